"""Two readings of a task beside each other: counts, the instances that flip, and the evidence that only one side
accepts.

Both sides are opened as :mod:`warehouse.variant` opens a home, in one in-memory database each. The evidence is that of
the task's why view, ``task.<slug>_why_v<N>``: the rows that make the label, read on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.caveats import caveats
from warehouse.counts import Counts, alone, count_rows
from warehouse.database import sql_text
from warehouse.home import Home, read_pinned
from warehouse.spec import Spec, find_spec
from warehouse.variant import Placed, Variant, memory, place
from warehouse.views import Catalog

SIDES = ("before", "after")
KEY = ("class", "kind", "rule", "value", "source", "source_no")
"""What makes two rows of a why view the same piece of evidence."""

SHOWN = ("class", "kind", "rule", "value", "reason", "view", "source", "source_no")
PLACE = ("source_file", "first_row", "last_row", "said", "words")
"""Columns of a why view as evidence carries them."""

DECISIVE = "(kind = 'candidate' AND accepted) OR (kind = 'exclusion' AND NOT accepted)"
"""The rows that a label is made of: candidates that are accepted, exclusions that stand."""


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found.

    ``before`` and ``after`` are counts (:class:`warehouse.counts.Counts`). A flip is an instance of both sides and a
    class that it has on one side alone, or that is unknown on one side alone. ``flipped``: instances that flip.
    ``missing``: the number of instances that one side alone has, by the side that has them. ``by_class``: class → way
    (``no_to_yes``, ``yes_to_unknown``, …) → flips. ``whole``: side → ``{"records", "scored", "classes"}`` over all
    instances, left-out ones too.

    ``explained``: whether the why view is there on both sides and was asked for. ``relabelled``: whether label or task
    views differ, so that the same evidence may add up otherwise. ``stale``: stored views that the build holds of other
    rules or data than today's, and that were computed anew; ``computed``: all that were, by side.
    """

    before: Counts
    after: Counts
    specs: tuple[Spec, Spec]
    instances: int
    flipped: int
    flip_count: int
    move_count: int
    missing: Mapping[str, int]
    by_class: Mapping[str, Mapping[str, int]]
    whole: Mapping[str, Mapping]
    explained: bool
    relabelled: bool
    stale: tuple[str, ...]
    computed: Mapping[str, tuple[str, ...]]
    con: duckdb.DuckDBPyConnection = field(repr=False)

    def flips(self, limit: int | None = None, *, evidence: bool = True) -> list[dict]:
        """``{"instance_id", "class", "before", "after", "evidence"}`` in order of instance and class, the first
        ``limit`` of them. before and after are true, false or null (no label); evidence is a list of rows of the why
        view with ``side``: the side that alone accepts the row (or alone has the exclusion), ``both`` where a label
        view adds the same rows up otherwise.

        Without ``evidence`` the lists are left out, which is much cheaper.
        """
        part = "" if limit is None else f"LIMIT {limit}"
        found = self.con.execute(
            f"SELECT instance_id, class, before, after FROM flip ORDER BY instance_id, place {part}"
        ).fetchall()
        flips = [dict(zip(("instance_id", "class", *SIDES), row, strict=True)) for row in found]
        if evidence:
            for flip in flips:
                flip["evidence"] = []
            if self.explained and flips:
                by_name = {(flip["instance_id"], flip["class"]): flip["evidence"] for flip in flips}
                for instance, name, row in self._evidence(part):
                    by_name[instance, name].append(row)
        return flips

    def unexplained(self) -> list[tuple[str, str]]:
        """(instance_id, class) of the flips for which no evidence is found; none, where a why view is right."""
        return [(flip["instance_id"], flip["class"]) for flip in self.flips() if not flip["evidence"]]

    def moves(self, limit: int | None = None) -> list[dict]:
        """``{"instance_id", "before": {"part", "left_out"}, "after": {…}}`` in order of instance."""
        query = "SELECT instance_id, part_before, left_out_before, part_after, left_out_after FROM pair WHERE moved"
        rows = self.con.execute(f"{query} ORDER BY instance_id" + _limit(limit)).fetchall()
        return [
            {
                "instance_id": name,
                "before": {"part": part, "left_out": left_out},
                "after": {"part": new_part, "left_out": new_left_out},
            }
            for name, part, left_out, new_part, new_left_out in rows
        ]

    def only(self, side: str, limit: int | None = None) -> list[str]:
        """The instances that ``side`` alone has."""
        query = f"SELECT instance_id FROM pair WHERE only_on = {sql_text(side)} ORDER BY instance_id"
        return [name for (name,) in self.con.execute(query + _limit(limit)).fetchall()]

    def write_flips(self, path: Path) -> None:
        """All flips as Parquet or, by the suffix, CSV: a row a flip and piece of evidence."""
        how = "HEADER" if path.suffix == ".csv" else "FORMAT parquet"
        query = "SELECT flip.instance_id, flip.class, flip.before, flip.after FROM flip"
        if self.explained:
            self._collect("")
            listed = ", ".join(f'difference."{name}" AS evidence_{name}' for name in ("side", *SHOWN, *PLACE))
            query = (
                f"SELECT flip.instance_id, flip.class, flip.before, flip.after, {listed} FROM flip"
                " LEFT JOIN difference ON flip.instance_id = difference.instance_id AND flip.class = difference.flip"
            )
        order = "ORDER BY ALL"
        self.con.execute(f"COPY ({query} {order}) TO {sql_text(path)} ({how})")

    def _evidence(self, part: str) -> Iterator[tuple[str, str, dict]]:
        self._collect(part)
        names = ("side", *SHOWN, *PLACE)
        columns = ", ".join(f'"{name}"' for name in names)
        rows = self.con.execute(
            f"SELECT instance_id, flip, {columns} FROM difference ORDER BY instance_id, flip, side DESC, {columns}"
        )
        while block := rows.fetchmany(10_000):
            for instance, name, *values in block:
                yield instance, name, dict(zip(names, values, strict=True))

    def _collect(self, part: str) -> None:
        """Fill ``difference``: for the flips of the first ``part``, the decisive rows that one side alone has."""
        con = self.con
        con.execute(f"CREATE OR REPLACE TABLE wanted AS FROM flip ORDER BY instance_id, place {part}")
        shown = ", ".join(f'why."{name}"' for name in (*SHOWN, *PLACE))
        for side, spec in zip(SIDES, self.specs, strict=True):
            con.execute(
                f"CREATE OR REPLACE TABLE decisive_{side} AS SELECT why.instance_id, {shown} "
                f"FROM {side}.{why_view(spec)} AS why "
                f"WHERE ({DECISIVE}) AND why.instance_id IN (SELECT instance_id FROM wanted)"
            )
        known = ", ".join(sql_text(name) for spec in self.specs for name in spec.classes)
        alike = " AND ".join(
            f'mine."{name}" IS NOT DISTINCT FROM theirs."{name}"' for name in ("instance_id", *KEY)
        )
        about = f"(mine.class = wanted.class OR mine.class IS NULL OR mine.class NOT IN ({known}))"
        joined = f"JOIN wanted ON mine.instance_id = wanted.instance_id AND {about}"
        halves = [
            f"SELECT '{side}' AS side, wanted.class AS flip, mine.* FROM decisive_{side} AS mine {joined} "
            f"WHERE NOT EXISTS (SELECT 1 FROM decisive_{other} AS theirs WHERE {alike})"
            for side, other in (SIDES, SIDES[::-1])
        ]
        con.execute(f"CREATE OR REPLACE TABLE difference AS {' UNION ALL '.join(halves)}")
        if self.relabelled:
            con.execute(
                f"INSERT INTO difference SELECT 'both', wanted.class, mine.* FROM decisive_after AS mine {joined} "
                "WHERE NOT EXISTS (SELECT 1 FROM difference AS theirs "
                "WHERE theirs.instance_id = wanted.instance_id AND theirs.flip = wanted.class)"
            )


def why_view(spec: Spec) -> str:
    """The name of a task's why view: a row a piece of evidence of every instance."""
    stem, _, version = spec.view.rpartition("_v")
    return f"{stem}_why_v{version}"


def compare(
    home: Home,
    task: str | Spec,
    before: Variant,
    after: Variant,
    *,
    after_task: str | Spec | None = None,
    catalog: Catalog | None = None,
    evidence: bool = True,
) -> Comparison:
    """Compare a task under two variants, or with another task of the same instances (``after_task``).

    Without ``evidence`` flips are counted and listed, not explained, and the why view is not opened. Raises UsageError
    for a task that is not there, and what :func:`warehouse.variant.open_variant` raises. A task that is not built is
    computed, as long as its data is loaded.
    """
    first = find_spec(task) if isinstance(task, str) else task
    second = first if after_task is None else after_task
    second = find_spec(second) if isinstance(second, str) else second
    catalog = catalog or Catalog.read()
    specs, variants = (first, second), (before, after)
    return read_pinned(home, lambda pinned: _compare(pinned, specs, variants, catalog, evidence))


def _compare(
    home: Home, specs: tuple[Spec, Spec], variants: tuple[Variant, Variant], catalog: Catalog, evidence: bool
) -> Comparison:
    con = memory()
    views = [variant.catalog or catalog for variant in variants]
    explained = evidence and all(why_view(spec) in each for spec, each in zip(specs, views, strict=True))
    placed: list[Placed] = []
    for side, spec, variant in zip(SIDES, specs, variants, strict=True):
        con.execute(f"ATTACH ':memory:' AS {side}")
        con.execute(f"USE {side}")
        targets = [spec.view, why_view(spec)] if explained else [spec.view]
        placed.append(place(con, home, catalog, variant, targets))
    con.execute("USE memory")
    counts = []
    for side, spec in zip(SIDES, specs, strict=True):
        source = f"{side}.{spec.view}"
        notes = caveats(home, spec, *alone(con, source))
        counts.append(Counts(spec, None, count_rows(con, spec, f"{source} AS task"), [], notes))
    _pair(con, specs)
    totals = dict(con.execute("SELECT only_on, count(*) FROM pair GROUP BY only_on").fetchall())
    whole = {side: _whole(con, f"{side}.{spec.view}", spec) for side, spec in zip(SIDES, specs, strict=True)}
    by_class: dict[str, dict[str, int]] = {}
    for name, old, new, number in con.execute(
        "SELECT class, before, after, count(*) FROM flip GROUP BY class, place, before, after "
        "ORDER BY place, before, after"
    ).fetchall():
        by_class.setdefault(name, {})[f"{_said(old)}_to_{_said(new)}"] = number
    ((flipped, flips),) = con.execute("SELECT count(DISTINCT instance_id), count(*) FROM flip").fetchall()
    ((moved,),) = con.execute("SELECT count(*) FROM pair WHERE moved").fetchall()
    return Comparison(
        before=counts[0],
        after=counts[1],
        specs=specs,
        instances=whole["before"]["records"] + totals.get("after", 0),
        flipped=flipped,
        flip_count=flips,
        move_count=moved,
        missing={side: totals.get(side, 0) for side in SIDES},
        by_class=by_class,
        whole={
            side: _whole(con, f"{side}.{spec.view}", spec) for side, spec in zip(SIDES, specs, strict=True)
        },
        explained=explained,
        relabelled=_relabelled(specs, placed, variants),
        stale=tuple(dict.fromkeys(name for side in placed for name in side.stale)),
        computed={side: each.computed for side, each in zip(SIDES, placed, strict=True)},
        con=con,
    )


def _pair(con: duckdb.DuckDBPyConnection, specs: tuple[Spec, Spec]) -> None:
    """``pair``: the instances that differ, part and left_out on both sides; ``flip``: a row an instance and class."""
    classes = list(dict.fromkeys(name for spec in specs for name in spec.classes))
    values = {
        side: [f'{side}."{name}"' if name in spec.classes else "NULL" for name in classes]
        for side, spec in zip(SIDES, specs, strict=True)
    }
    columns = ", ".join(
        f"{value} AS {side}_{place}" for side in SIDES for place, value in enumerate(values[side])
    )
    differs = " OR ".join(f"before_{place} IS DISTINCT FROM after_{place}" for place in range(len(classes)))
    con.execute(
        f"""
        CREATE TABLE pair AS
        SELECT
            coalesce(before.instance_id, after.instance_id) AS instance_id
            , before.part AS part_before
            , before.left_out AS left_out_before
            , after.part AS part_after
            , after.left_out AS left_out_after
            , CASE
                WHEN after.instance_id IS NULL THEN 'before'
                WHEN before.instance_id IS NULL THEN 'after'
            END AS only_on
            , only_on IS NULL AND (
                part_before IS DISTINCT FROM part_after OR left_out_before IS DISTINCT FROM left_out_after
            ) AS moved
            , {columns}
        FROM before.{specs[0].view} AS before
        FULL OUTER JOIN after.{specs[1].view} AS after ON before.instance_id = after.instance_id
        WHERE only_on IS NOT NULL OR moved OR {differs}
        """
    )
    pieces = [
        f"SELECT instance_id, {sql_text(name)} AS class, {place} AS place, before_{place} AS before, "
        f"after_{place} AS after FROM pair WHERE only_on IS NULL AND before_{place} IS DISTINCT FROM after_{place}"
        for place, name in enumerate(classes)
    ]
    con.execute(f"CREATE TABLE flip AS {' UNION ALL '.join(pieces)}")


def _whole(con: duckdb.DuckDBPyConnection, source: str, spec: Spec) -> dict:
    classes = "".join(f', count(*) FILTER ("{name}")' for name in spec.classes)
    query = f"SELECT count(*), count(*) FILTER (scored){classes} FROM {source}"
    ((records, scored, *counted),) = con.execute(query).fetchall()
    return {
        "records": records,
        "scored": scored,
        "classes": dict(zip(spec.classes, counted, strict=True)),
    }


def _said(value: object) -> str:
    """A class column's value in words; a number for a task that is no matter of yes and no."""
    return "unknown" if value is None else {True: "yes", False: "no"}.get(value, str(value))


def _relabelled(specs: tuple[Spec, Spec], placed: list[Placed], variants: tuple[Variant, Variant]) -> bool:
    """Whether the sides add evidence up by different rules: another label or task view, or a select list over one."""
    texts = [
        {
            view.name: (view.sql_fingerprint, variant.columns.get(view.name))
            for view in side.catalog.lineage([spec.view])
            if view.layer in ("label", "task")
        }
        for spec, side, variant in zip(specs, placed, variants, strict=True)
    ]
    return texts[0] != texts[1]


def _limit(limit: int | None) -> str:
    return "" if limit is None else f" LIMIT {limit}"
