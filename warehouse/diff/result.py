"""What `diff` found: changed rules, and for every task that reads them the counts, flips and moves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from warehouse.diff.change import Change
from warehouse.diff.rows import Rows
from warehouse.errors import UsageError
from warehouse.flips import Comparison


@dataclass(frozen=True)
class Rule:
    """One view, map, split or task that differs. ``state``: changed, new, removed, or same; ``against`` names what
    a new version is compared with."""

    kind: str
    name: str
    state: str
    changes: Sequence[Change] = ()
    against: str | None = None

    def as_json(self) -> dict:
        return {
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            "against": self.against,
            "changes": [change.as_json() for change in self.changes],
        }


@dataclass(frozen=True)
class Budget:
    """How many instances of a task may differ: a number, or a share of the task's instances."""

    text: str
    number: float
    is_share: bool

    @classmethod
    def of(cls, text: str) -> Budget:
        """``12``, or ``0.1%``. Raises UsageError for anything else."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)\s*%", text.strip())
        if match and float(match[1]) <= 100:
            return cls(text, float(match[1]) / 100, True)
        if re.fullmatch(r"\d+", text.strip()):
            return cls(text, int(text), False)
        raise UsageError(
            f"found --max-flips {text!r}; expected a number of instances, or a share such as 0.1%"
        )

    def allows(self, differing: int, instances: int) -> bool:
        return differing <= (self.number * instances if self.is_share else self.number)


@dataclass(frozen=True)
class TaskDifference:
    """A task on both sides."""

    name: str
    comparison: Comparison

    @cached_property
    def differing(self) -> int:
        """Instances that flip, lie in another part or out of it, or are on one side alone; each counted once."""
        ((number,),) = self.comparison.con.execute(
            "SELECT count(*) FROM pair WHERE moved OR only_on IS NOT NULL "
            "OR instance_id IN (SELECT instance_id FROM flip)"
        ).fetchall()
        return number

    @cached_property
    def transitions(self) -> list[tuple]:
        """(class, before, after, flips, those of them that are used in their part afterwards)."""
        return self.comparison.con.execute(
            "SELECT flip.class, flip.before, flip.after, count(*), count(*) FILTER (pair.left_out_after IS NULL) "
            "FROM flip INNER JOIN pair ON flip.instance_id = pair.instance_id "
            "GROUP BY flip.class, flip.place, flip.before, flip.after ORDER BY flip.place, 2, 3"
        ).fetchall()

    @cached_property
    def journeys(self) -> list[tuple[str, str, int]]:
        """(place before, place after, instances), a place being the part, and why it is left out where it is."""
        place = "coalesce(part_{0}, 'no part') || coalesce(', left out: ' || left_out_{0}, '')"
        return self.comparison.con.execute(
            f"SELECT {place.format('before')}, {place.format('after')}, count(*) FROM pair WHERE moved "
            "GROUP BY ALL ORDER BY ALL"
        ).fetchall()

    def as_json(self) -> dict:
        found = self.comparison
        return {
            "task": self.name,
            "before": found.before.as_json(),
            "after": found.after.as_json(),
            "instances": found.instances,
            "differing": self.differing,
            "flipped": found.flipped,
            "flips": found.flip_count,
            "by_class": {name: dict(numbers) for name, numbers in found.by_class.items()},
            "moved": found.move_count,
            "only_before": found.missing["before"],
            "only_after": found.missing["after"],
            "explained": found.explained,
            "stale": list(found.stale),
        }


@dataclass(frozen=True)
class Difference:
    """Everything that `diff` says. ``not_built``: tasks that read what differs and are not built in this home."""

    before: str
    after: str
    rules: Sequence[Rule]
    tasks: Sequence[TaskDifference] = ()
    not_built: Sequence[str] = ()
    rows: Rows | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def is_same(self) -> bool:
        """Whether neither a rule nor an instance differs."""
        alike = all(rule.state == "same" for rule in self.rules)
        return alike and not any(task.differing for task in self.tasks)

    def beyond(self, budget: Budget) -> list[TaskDifference]:
        """The tasks in which more instances differ than the budget allows."""
        return [task for task in self.tasks if not budget.allows(task.differing, task.comparison.instances)]

    def as_json(self) -> dict:
        """``flips`` and ``moves`` are of all tasks, each with its ``task``; ``rule`` has a list of changes a name."""
        return {
            "before": self.before,
            "after": self.after,
            "same": self.is_same,
            "rule": [rule.as_json() for rule in self.rules],
            "tasks": [task.as_json() for task in self.tasks],
            "flips": [{"task": task.name, **flip} for task in self.tasks for flip in task.comparison.flips()],
            "moves": [{"task": task.name, **move} for task in self.tasks for move in task.comparison.moves()],
            "only": [
                {"task": task.name, "side": side, "instance_id": name}
                for task in self.tasks
                for side in ("before", "after")
                for name in task.comparison.only(side)
            ],
            "rows": self.rows and self.rows.as_json(),
            "not_built": list(self.not_built),
            "notes": list(self.notes),
        }

    def write_flips(self, path: Path) -> None:
        """All flips as Parquet: a row a task, flip and piece of evidence; whole or not at all."""
        import tempfile
        import uuid

        import duckdb

        from warehouse.database import sql_text
        from warehouse.home import writing

        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
        with tempfile.TemporaryDirectory(prefix="leadhouse-diff-") as folder, writing(path, "FILE"):
            con = duckdb.connect()
            parts = []
            for number, task in enumerate(self.tasks):
                file = Path(folder) / f"{number}.parquet"
                task.comparison.write_flips(file)
                parts.append(f"SELECT {sql_text(task.name)} AS task, * FROM read_parquet({sql_text(file)})")
            query = " UNION ALL BY NAME ".join(parts) or NO_FLIPS
            try:
                con.execute(f"COPY ({query}) TO {sql_text(draft)} (FORMAT parquet)")
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)


NO_FLIPS = "SELECT '' AS task, '' AS instance_id, '' AS class, TRUE AS before, TRUE AS after WHERE FALSE"
