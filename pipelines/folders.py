"""Two folders of WFDB headers scored as the Challenge's own tool does: ``score-folders REFERENCE OUTPUT``.

Only classification: no signal is opened. A record is a ``.hea`` file somewhere below the reference folder,
its output the file at the same place below the other one. What the tool passes over in silence, and what is
most often a slip, is told as a warning; where the tool breaks off, so do we, and say at which header.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.challenge2024 import MacroF, score_lists
from warehouse.errors import SHOWN, InputError, Problem, UsageError
from warehouse.table import as_text

SUFFIX = ".hea"
MARK = "# Labels:"


@dataclass(frozen=True)
class Folders:
    """A score with how many records there were, and what a reader should look at."""

    result: MacroF
    records: int
    scored: int
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """``macro_f`` and ``classes``; NaN is None."""
        classes = {name: _or_none(value) for name, value in self.result.classes.items()}
        return {"macro_f": _or_none(self.result.macro), "classes": classes}

    def as_text(self) -> str:
        macro = _or_none(self.result.macro)
        lines = [f"{self.scored:,} of {self.records:,} records have a label in the reference"]
        if macro is None:
            return f"{lines[0]}\nmacro F undefined: no such record has a predicted label"
        rows = [(name or "(empty name)", f"{value:.4f}") for name, value in self.result.classes.items()]
        return "\n".join([*lines, f"macro F {macro:.4f}", "", as_text(("class", "F"), rows)])


@dataclass
class _Header:
    """What one header says: its names, and whether it could be read and has a line that is nearly a label line."""

    names: list[str] = field(default_factory=list)
    first: str = ""
    unreadable: bool = False
    near: bool = False

    @property
    def stray(self) -> bool:
        """An empty name beside another name: a comma too many."""
        return len(self.names) > 1 and "" in self.names


def score_folders(reference: Path, output: Path) -> Folders:
    """Score the headers below `output` against those below `reference`.

    UsageError when one is no folder; InputError when the reference has no header, or one whose first line is
    no record line: the Challenge's tool stops there.
    """
    for folder in (reference, output):
        if not folder.is_dir():
            raise UsageError(f"{folder}: found no folder; expected one with WFDB headers (*{SUFFIX})")
    places = _headers(reference)
    if not places:
        raise InputError(f"{reference}: found no header (*{SUFFIX}) in it or below; expected one a record")
    truth = {place: _read(reference / place) for place in places}
    _check_first_lines(truth)
    named = {place: _read(output / place) for place in places if (output / place).is_file()}
    empty = _Header()
    lists = [(truth[place].names, named.get(place, empty).names) for place in places]
    return Folders(
        result=score_lists([names for names, _ in lists], [names for _, names in lists]),
        records=len(places),
        scored=sum(any(names) for names, _ in lists),
        warnings=tuple(_warnings(places, truth, named)),
    )


def labels_of(text: str) -> list[str]:
    """The names of a header's label lines, several lines one after the other.

    A line counts when it starts with the mark, letter by letter; only commas part names. A mark with nothing
    behind it, or a comma too many, gives an empty name.
    """
    lines = [line[len(MARK) :] for line in text.split("\n") if line.startswith(MARK)]
    return [name.strip() for line in lines for name in line.strip().split(",")]


def _headers(folder: Path) -> list[str]:
    """Relative paths of the headers below a folder, sorted."""
    found = []
    for place, _, files in os.walk(folder):
        below = Path(place).relative_to(folder)
        found += [(below / name).as_posix() for name in files if Path(name).suffix == SUFFIX]
    return sorted(found)


def _read(path: Path) -> _Header:
    """A header; one that cannot be read, or is no UTF-8 text, has no names, as in the Challenge's tool."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except OSError:
        return _Header(unreadable=True)
    except UnicodeDecodeError:
        return _Header(first=content.split(b"\n")[0].decode("utf-8", "replace"), unreadable=True)
    lines = text.split("\n")
    near = any(_squeezed(line).startswith(_squeezed(MARK)) and not line.startswith(MARK) for line in lines)
    return _Header(labels_of(text), lines[0], near=near)


def _squeezed(line: str) -> str:
    return "".join(line.replace("#", "").split()).lower()


def _check_first_lines(truth: Mapping[str, _Header]) -> None:
    problems = []
    for place, header in truth.items():
        fields = header.first.split()
        if len(fields) > 1 and not fields[0].startswith("#") and fields[1].isdecimal():
            continue
        found = f"the first line {header.first[:60]!r}" if header.first.strip() else "an empty first line"
        problems.append(Problem(place, found, "a record line: a name and the number of signals", 1))
    if problems:
        raise InputError(
            f"reference: found {len(problems)} headers without a record line at the top; "
            "the Challenge's own tool breaks off there",
            problems,
            "put the record line first (`name 0 500 5000` where there is no signal), comments after it",
        )


def _warnings(
    places: Sequence[str], truth: Mapping[str, _Header], named: Mapping[str, _Header]
) -> Iterator[str]:
    sides = (("reference", truth), ("output", named))
    absent = [place for place in places if place not in named and any(truth[place].names)]
    if absent:
        yield f"output: {_listed(absent)}: no file, scored as predicting nothing"
    for side, headers in sides:
        effect = "is a class of its own" if side == "reference" else "counts only where it is a class"
        kinds = (
            ([p for p, header in headers.items() if header.stray], f"a stray comma; the empty name {effect}"),
            ([p for p, header in headers.items() if header.unreadable], "no UTF-8 text, read as no labels"),
            (
                [p for p, header in headers.items() if header.near],
                f"a line that is nearly {MARK!r} and not read",
            ),
        )
        yield from (f"{side}: {_listed(which)}: {what}" for which, what in kinds if which)


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:SHOWN])
    return f"{len(places):,} headers ({shown}{', …' if len(places) > SHOWN else ''})"


def _or_none(value: float) -> float | None:
    return None if value != value else value
