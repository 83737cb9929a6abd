"""Every error that Leadhouse raises on purpose.

::

    LeadhouseError                 exit 2   wrong usage or environment
    ├── UsageError                 exit 2   a name, version, column or option that is not there
    ├── HomeError                  exit 2   the data home: read-only, full, locked, nothing loaded
    ├── RegistryError              exit 2   a view file, map, spec or split that breaks the house's own rules
    ├── InputError                 exit 1   data or a submission that breaks its contract (lists problems)
    └── CheckFailed                exit 1   a difference, a failed audit, a broken link: the data is wrong, not we

A message says where (file, row), what was found, what was expected and what to do next. Nothing is
written before the input has been checked, so an error never costs what was already built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHOWN = 10
"""How many problems a message spells out; the rest is counted."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an input.

    ``row`` is the line of a text file counted from 1 (the header is line 1), or the key of a record.
    """

    where: str
    found: str
    expected: str
    row: int | str | None = None

    def __str__(self) -> str:
        place = self.where if self.row is None else f"{self.where}, row {self.row}"
        return f"{place}: found {self.found}; expected {self.expected}"


class LeadhouseError(Exception):
    """The root. ``next_step`` says what the user can do; ``exit_code`` is what the command line returns."""

    exit_code = 2

    def __init__(self, message: str, next_step: str | None = None) -> None:
        self.next_step = next_step
        super().__init__(message if next_step is None else f"{message}\n  next: {next_step}")


class UsageError(LeadhouseError):
    """A name, version, column or option that does not exist."""


class HomeError(LeadhouseError):
    """The data home cannot be used as asked: read-only, full, locked, or nothing is loaded yet."""


class RegistryError(LeadhouseError):
    """A file of ``sql/`` or ``registry/`` breaks the house's own rules."""


class InputError(LeadhouseError):
    """Input that breaks its contract. ``problems`` holds all of them, the message the first ten."""

    exit_code = 1

    def __init__(self, summary: str, problems: Iterable[Problem] = (), next_step: str | None = None) -> None:
        self.problems: Sequence[Problem] = tuple(problems)
        lines = [summary, *(f"  - {problem}" for problem in self.problems[:SHOWN])]
        if len(self.problems) > SHOWN:
            lines.append(f"  - … and {len(self.problems) - SHOWN} more")
        super().__init__("\n".join(lines), next_step)


class CheckFailed(LeadhouseError):
    """A check ran and did not hold."""

    exit_code = 1
