"""Everything that is wrong with a submission, gathered by kind and raised at once."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from warehouse.errors import SHOWN, InputError, Problem
from warehouse.table import one_line

LONGEST = 40
"""So much of a value is spelt out."""


class Faults:
    """Faults by kind; the message names the first ten keys of each kind."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.step: str | None = None

    def __bool__(self) -> bool:
        return bool(self.problems)

    def add(
        self,
        keys: pl.Series | Iterable[str | None],
        found: str,
        expected: str,
        values: pl.Series | None = None,
    ) -> None:
        """A fault of the rows with these keys; none when there are no keys. `values` are what stands there."""
        keys = keys.cast(pl.String).to_list() if isinstance(keys, pl.Series) else list(keys)
        if not keys:
            return
        count = f"{len(keys)}, the first {SHOWN} of them" if len(keys) > SHOWN else len(keys)
        names = [one_line(key or "(none)") for key in keys[:SHOWN]]
        if values is not None:
            names = [
                f"{name} has {_shown(value)}"
                for name, value in zip(names, values.head(SHOWN).to_list(), strict=True)
            ]
        shown = ", ".join(names)
        self.problems.append(Problem(self.file, f"{found} ({count}): {shown}", expected))

    def add_file(self, found: str, expected: str, step: str | None = None) -> None:
        """A fault of the file as a whole, such as its columns; `step` says how to mend it."""
        self.problems.append(Problem(self.file, found, expected))
        self.step = self.step or step

    def raise_any(self) -> None:
        if self.problems:
            raise InputError(
                f"{self.file}: the submission is rejected",
                self.problems,
                self.step or "mend these rows and score again",
            )


def _shown(value: object) -> str:
    if value is None or value == "":
        return "nothing"
    text = one_line(repr(value) if isinstance(value, str) else str(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
