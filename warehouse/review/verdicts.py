"""``review add`` and ``review import``: verdicts as people write them, checked against the task before any is kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from warehouse.database import parquet
from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import Home
from warehouse.instance import find_instance
from warehouse.review.given import AGREE, Given, faults, moment_of, read_table
from warehouse.review.store import append, stored
from warehouse.spec import Spec, find_spec
from warehouse.task import as_built, task_file

KEY = ("task", "instance_id", "class", "reader", "verdict_at")


@dataclass(frozen=True)
class Added:
    """What became of verdicts: how many were stored, how many were there already, how many there are now."""

    stored: int
    known: int
    total: int

    def as_json(self) -> dict:
        return {"stored": self.stored, "known": self.known, "verdicts": self.total}

    def as_text(self) -> str:
        """One line."""
        known = f", {self.known:,} were there already" if self.known else ""
        return (
            f"{self.stored:,} verdict{'' if self.stored == 1 else 's'} stored{known}; {self.total:,} in all"
        )


def add(
    home: Home,
    task: str,
    instance_id: str,
    klass: str,
    agree: bool,
    reader: str,
    reason: str = "",
    day: str = "",
) -> Added:
    """Store one verdict. ``day``: an ISO date or date and time, by default now (UTC, to the second).

    ``instance_id`` may also be a record or a place in one (:func:`warehouse.instance.find_instance`). Raises UsageError
    for a task, an instance or a class that is not there, InputError for anything else that is wrong, and for a verdict
    that the reader's last one on this label says already.
    """
    spec = find_spec(task)
    if klass not in spec.classes:
        raise UsageError(f"{spec.name}: found no class {klass!r}; expected one of: {', '.join(spec.classes)}")
    instance_id = str(
        find_instance(duckdb.connect(), spec, task_file(home, spec)[1], instance_id)["instance_id"]
    )
    day = day or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    given = Given(spec.name, instance_id, klass, "yes" if agree else "no", reader, reason, day, "review add")
    with home.writer("review add"):
        rows, _ = _checked(home, [given])
        before = [
            row
            for row in stored(home, spec.name)
            if all(row[name] == rows[0][name] for name in ("instance_id", "class", "reader"))
        ] if rows else []  # fmt: skip
        last = max(before, key=lambda row: (row["verdict_at"], row["verdict_no"]), default=None)
        same = ("agree", "reason", "label_seen", "label_rule")
        if not rows or (last and all(last[name] == rows[0][name] for name in same)):
            raise InputError(
                f"{spec.name} {instance_id} {klass}: found this verdict by {reader} stored already; expected a new one",
                next_step="nothing to do; `review list` shows what is stored",
            )
        return Added(1, 0, append(home, rows))


def import_csv(home: Home, path: Path, task: str | None = None) -> Added:
    """Store the verdicts of a CSV file, all or none; those that are stored already are counted and left.

    Columns: instance_id (or instance), class, agree (yes, no), reader (or reviewer), date, reason if there is one, and
    task where ``task`` is not given. Raises InputError with every row that is wrong, UsageError for a file that is
    not there.
    """
    if not path.is_file():
        raise UsageError(f"{path}: found no file; expected a CSV of verdicts")
    named = find_spec(task).name if task else None
    with home.writer("review import"):
        given = read_table(path, named)
        rows, known = _checked(home, given)
        total = append(home, rows) if rows else _count(home, {each.task for each in given})
        return Added(len(rows), known, total)


def _count(home: Home, tasks: Iterable[str]) -> int:
    return sum(len(stored(home, task)) for task in tasks)


def _checked(home: Home, given: Sequence[Given]) -> tuple[list[dict], int]:
    """The rows to store, and how many of the given ones are stored already. InputError with all that is wrong."""
    problems: list[Problem] = []
    rows: dict[tuple, tuple[dict, Given]] = {}
    known = 0
    for name in dict.fromkeys(each.task for each in given):
        theirs = [each for each in given if each.task == name]
        try:
            spec = find_spec(name)
        except UsageError as error:
            problems += [Problem(each.place, f"task {name!r}", "a task", each.row) for each in theirs]
            if theirs[0].row is None:
                raise error
            continue
        labels, rule = _labels(home, spec, {each.instance_id for each in theirs})
        before = {tuple(row[part] for part in KEY): row for row in stored(home, spec.name)}
        for each in theirs:
            wrong = list(faults(home, spec, labels, each))
            problems += wrong
            if wrong:
                continue
            row = _row(spec, labels, rule, each)
            key = tuple(row[part] for part in KEY)
            earlier = before.get(key) or (rows[key][0] if key in rows else None)
            if earlier is None:
                rows[key] = (row, each)
            elif earlier["agree"] == row["agree"]:
                known += 1
            else:
                where = f"row {rows[key][1].row}" if key in rows else f"verdict {earlier['verdict_no']}"
                problems.append(
                    Problem(
                        each.place,
                        f"{each.reader} on {each.instance_id} {each.klass} at {row['verdict_at'].isoformat()} "
                        f"against {where} of the same time",
                        "one verdict at a time; a change of mind needs a later date, with a time on the same day",
                        each.row,
                    )
                )
    if problems:
        raise InputError(
            f"{given[0].place}: nothing stored", problems, "mend what is listed and give the verdicts again"
        )
    return [row for row, _ in rows.values()], known


def _labels(home: Home, spec: Spec, ids: set[str]) -> tuple[dict[str, dict[str, bool | None]], str]:
    """instance → class → label, of the ids that the built task has, and the task view's rule."""
    entry, file = task_file(home, spec)
    as_built(Path(file), entry["sha256"])
    con = duckdb.connect()
    con.execute("CREATE TABLE wanted (instance_id VARCHAR)")
    con.executemany("INSERT INTO wanted VALUES (?)", [[name] for name in sorted(ids)])
    classes = ", ".join(f'task."{name}"' for name in spec.classes)
    found = con.execute(
        f"SELECT task.instance_id, {classes} FROM {parquet((Path(file),))} AS task SEMI JOIN wanted USING (instance_id)"
    ).fetchall()
    return {name: dict(zip(spec.classes, labels, strict=True)) for name, *labels in found}, entry["rule"]


def _row(spec: Spec, labels: dict, rule: str, each: Given) -> dict:
    return {
        "task": spec.name,
        "instance_id": each.instance_id,
        "class": each.klass,
        "agree": AGREE[each.agree.lower()],
        "reader": each.reader.strip(),
        "reason": each.reason.strip() or None,
        "verdict_at": moment_of(each.date),
        "label_seen": labels[each.instance_id][each.klass],
        "label_rule": rule,
        "source_file": None if each.row is None else each.place,
        "row_no": each.row,
    }
