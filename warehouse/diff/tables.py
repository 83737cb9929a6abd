"""What changed between two versions of a map or of a split's membership: rows by key, units by part."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from warehouse.diff.change import Change
from warehouse.errors import RegistryError, UsageError
from warehouse.maps import read_map

Row = Mapping[str, str]


def map_changes(name: str, before: Path | None, after: Path | None) -> list[Change]:
    """What changed between two CSVs of one map: columns, then rows by their key; None stands for no such map.

    The key is the fewest first columns that tell all rows of both files apart. ``before`` and ``after`` of a change
    are whole rows. Raises RegistryError for a ragged file.
    """
    old, new = ([] if path is None else [*_read(path)] for path in (before, after))
    if before is None or after is None:
        rows, what = (new, "new") if before is None else (old, "removed")
        return [Change("map", "", f"map.{name} is {what}: {len(rows)} rows")]
    columns = [list(rows[0]) if rows else [] for rows in (old, new)]
    found = [
        Change("map column", "", f"column {column} {what}")
        for mine, others, what in ((columns[0], columns[1], "removed"), (columns[1], columns[0], "added"))
        for column in mine
        if column not in others
    ]
    key = key_of(old, new)
    if key is None:
        return found + _uncounted(old, new)
    ours, theirs = ({tuple(row[column] for column in key): row for row in rows} for rows in (old, new))
    found += [
        Change("map row", "", f"row removed: {_row(row)}", _row(row), None)
        for place, row in ours.items()
        if place not in theirs
    ]
    found += [
        Change("map row", "", f"row added: {_row(row)}", None, _row(row))
        for place, row in theirs.items()
        if place not in ours
    ]
    for place, row in ours.items():
        other = theirs.get(place, row)
        cells = [column for column in row if column in other and row[column] != other[column]]
        if cells:
            words = "; ".join(f"{column} {row[column]!r} became {other[column]!r}" for column in cells)
            found.append(Change("map row", "", f"row {' + '.join(place)}: {words}", _row(row), _row(other)))
    if not found and [*ours] != [*theirs]:
        found.append(Change("order", "", "the rows stand in another order"))
    return found


def key_of(*tables: Sequence[Row]) -> tuple[str, ...] | None:
    """The fewest first columns that are unique in every table; None where whole rows stand twice."""
    columns = [column for column in next((table[0] for table in tables if table), {})]
    columns = [column for column in columns if all(not table or column in table[0] for table in tables)]
    for size in range(1, len(columns) + 1):
        key = columns[:size]
        if all(len({tuple(row[column] for column in key) for row in rows}) == len(rows) for rows in tables):
            return tuple(key)
    return None


def require_columns(name: str, before: Path, after: Path) -> None:
    """Raise UsageError when a map has other columns than the file in its place."""
    old, new = ([*rows[0]] if (rows := _read(path)) else [] for path in (before, after))
    if new != old:
        raise UsageError(
            f"{after}: found columns {', '.join(new) or 'none'}; expected those of map.{name}: {', '.join(old)}",
            "name and order the columns as the map has them",
        )


def require_key(name: str, today: Path, file: Path) -> None:
    """Raise UsageError for a file in the place of a map that repeats what is unique in the map: what joins it would
    count records twice."""
    key = key_of(_read(today))
    seen: dict[tuple[str, ...], int] = {}
    for row_no, row in enumerate(_read(file), 2) if key else ():
        value = tuple(row[column] for column in key)
        if value in seen:
            raise UsageError(
                f"{file}: found {' + '.join(key)} {' + '.join(value)!r} in row {seen[value]} and again in row "
                f"{row_no}; expected it once, as in map.{name}",
                "take one of the rows out",
            )
        seen[value] = row_no


def part_moves(before: Mapping[str, str], after: Mapping[str, str]) -> list[Change]:
    """How many units of a split went from where to where, by their part (``unit → part``)."""
    units = [*before, *(unit for unit in after if unit not in before)]
    moves = Counter((before.get(unit), after.get(unit)) for unit in units)
    return [
        Change("split", "", f"{number:,} units: {_part(old)} → {_part(new)}", old, new)
        for (old, new), number in sorted(moves.items(), key=lambda move: [part or "" for part in move[0]])
        if old != new
    ]


def _read(path: Path) -> Sequence[Row]:
    try:
        return read_map(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RegistryError(f"{path}: found {error}; expected a map as CSV in UTF-8") from error


def _part(name: str | None) -> str:
    return name or "no part"


def _row(row: Row) -> str:
    return ", ".join(f"{column}={value}" for column, value in row.items() if value != "")


def _uncounted(old: Sequence[Row], new: Sequence[Row]) -> list[Change]:
    """Rows that one side has more often, for a map whose rows have no key."""
    ours, theirs = (Counter(map(_row, rows)) for rows in (old, new))
    found = [
        Change("map row", "", f"row {what}{f' {number} times' if number > 1 else ''}: {row}", *sides)
        for rows, what in ((ours - theirs, "removed"), (theirs - ours, "added"))
        for row, number in rows.items()
        for sides in [(row, None) if what == "removed" else (None, row)]
    ]
    if not found and [*map(_row, old)] != [*map(_row, new)]:
        found.append(Change("order", "", "the rows stand in another order"))
    return found
