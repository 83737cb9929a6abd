"""A verdict as somebody wrote it, on the command line or in a table, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import duckdb

from warehouse.database import parquet
from warehouse.errors import InputError, Problem
from warehouse.home import Home
from warehouse.spec import Spec
from warehouse.task import task_file

AGREE = {"yes": True, "true": True, "1": True, "agree": True, "y": True,
         "no": False, "false": False, "0": False, "disagree": False, "n": False}  # fmt: skip
COLUMNS = {
    "instance_id": ("instance_id", "instance"),
    "class": ("class",),
    "agree": ("agree",),
    "reader": ("reader", "reviewer"),
    "reason": ("reason",),
    "date": ("date",),
    "task": ("task",),
}
"""What a verdict says → the names of the column for it in an imported table."""
NEEDED = ("instance_id", "class", "agree", "reader", "date")
LONGEST = {"reader": 100, "reason": 2_000}
"""Characters."""


@dataclass(frozen=True)
class Given:
    """A verdict as it was written; ``place`` and ``row`` say where."""

    task: str
    instance_id: str
    klass: str
    agree: str
    reader: str
    reason: str
    date: str
    place: str
    row: int | None = None


def read_table(path: Path, task: str | None) -> list[Given]:
    """The rows of a CSV file. Raises InputError for a table that lacks a column or has no rows."""
    from warehouse.load.metadata_csv import header_of, read_columns

    header = header_of(path)
    names = {
        part: next((name for name in known if name in header), known[0]) for part, known in COLUMNS.items()
    }
    needed = [names[part] for part in (*NEEDED, *(() if task else ("task",)))]
    rows, columns = read_columns(path, needed, list(names.values()))
    found = []
    for at, row in enumerate(rows):
        text = {part: columns[name][at].strip() if name in columns else "" for part, name in names.items()}
        found.append(
            Given(
                task=task or text["task"],
                instance_id=text["instance_id"],
                klass=text["class"],
                agree=text["agree"],
                reader=text["reader"],
                reason=text["reason"],
                date=text["date"],
                place=path.name,
                row=row,
            )
        )
    if not found:
        raise InputError(
            f"{path.name}: nothing stored", [Problem(path.name, "no rows", "a row a verdict", 2)]
        )
    return found


def faults(
    home: Home, spec: Spec, labels: Mapping[str, Mapping[str, bool | None]], each: Given
) -> Iterator[Problem]:
    """What keeps a verdict from being stored; ``labels``: instance → class → label, of the ids that are there."""

    def problem(found: str, expected: str) -> Problem:
        return Problem(each.place, found, expected, each.row)

    is_there = each.instance_id in labels
    if not is_there:
        near = ", ".join(nearest(home, spec, each.instance_id))
        yield problem(f"instance {each.instance_id!r}", f"one of {spec.name}, perhaps {near}")
    if each.klass not in spec.classes:
        yield problem(f"class {each.klass!r}", f"one of {', '.join(spec.classes)}")
    elif is_there and labels[each.instance_id][each.klass] is None:
        yield problem(
            f"{each.instance_id}, whose {each.klass} is unknown", "an instance with a label to agree with"
        )
    if each.agree.lower() not in AGREE:
        yield problem(f"agree {each.agree!r}", "yes or no")
    if not each.reader.strip() or not each.reader.isprintable() or len(each.reader) > LONGEST["reader"]:
        yield problem(f"reader {each.reader[:40]!r}", f"a name of up to {LONGEST['reader']} characters")
    if len(each.reason) > LONGEST["reason"]:
        yield problem(f"a reason of {len(each.reason):,} characters", f"up to {LONGEST['reason']:,}")
    moment = moment_of(each.date)
    if moment is None:
        yield problem(
            f"date {each.date!r}", "an ISO date, or date and time, as in 2026-03-01 or 2026-03-01T14:30"
        )
    elif moment > datetime.now(UTC).replace(tzinfo=None) + timedelta(days=1):
        yield problem(f"date {each.date}", "no day that is still to come")


def moment_of(text: str) -> datetime | None:
    """Midnight of a date, or a time (in UTC where it names a zone); None for anything else."""
    try:
        if len(text) <= len("2026-03-01"):
            return datetime.combine(date.fromisoformat(text), time())
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def nearest(home: Home, spec: Spec, instance_id: str, n: int = 3) -> list[str]:
    """The task's ids with the fewest edits from a text."""
    _, file = task_file(home, spec)
    found = duckdb.connect().execute(
        f"SELECT instance_id FROM {parquet((Path(file),))} ORDER BY levenshtein(instance_id, ?), instance_id LIMIT ?",
        [instance_id[:200], n],
    )
    return [name for (name,) in found.fetchall()]
