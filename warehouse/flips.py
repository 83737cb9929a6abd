"""Two readings of a task beside each other: counts, the instances that flip, and the evidence that only one side
accepts.

Both sides are opened as :mod:`warehouse.variant` opens a home, in one in-memory database each.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.caveats import caveats
from warehouse.counts import Counts, alone, count_rows
from warehouse.database import sql_text
from warehouse.errors import RegistryError
from warehouse.flip_evidence import COLUMNS, SIDES, differences, explain, limited, why_view
from warehouse.home import Home, read_pinned
from warehouse.paired import pair, ways, whole
from warehouse.spec import Spec, find_spec
from warehouse.variant import Placed, Variant, memory, place
from warehouse.views import Catalog


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
    catalogs: tuple[Catalog, Catalog] = field(repr=False)
    con: duckdb.DuckDBPyConnection = field(repr=False)

    def flips(self, limit: int | None = None, *, evidence: bool = True) -> list[dict]:
        """``{"instance_id", "class", "before", "after", "evidence"}`` in order of instance and class, the first
        ``limit`` of them. before and after are true, false or null (no label); evidence is a list of rows of the why
        view with ``side``: the side that alone accepts the row (or alone has the exclusion), ``both`` where a label
        view adds the same rows up otherwise.

        Without ``evidence`` the lists are left out, which is much cheaper.
        """
        query = "SELECT instance_id, class, before, after FROM flip ORDER BY instance_id, place"
        found = self.con.execute(query + limited(limit)).fetchall()
        flips = [dict(zip(("instance_id", "class", *SIDES), row, strict=True)) for row in found]
        if evidence:
            for flip in flips:
                flip["evidence"] = []
            if self.explained and flips:
                by_name = {(flip["instance_id"], flip["class"]): flip["evidence"] for flip in flips}
                explain(self.con, self.specs, self.catalogs, relabelled=self.relabelled, first=limit)
                for instance, name, row in differences(self.con):
                    by_name[instance, name].append(row)
        return flips

    def unexplained(self) -> list[tuple[str, str]]:
        """(instance_id, class) of the flips for which no evidence is found; none, where a why view is right."""
        return [(flip["instance_id"], flip["class"]) for flip in self.flips() if not flip["evidence"]]

    def moves(self, limit: int | None = None) -> list[dict]:
        """``{"instance_id", "before": {"part", "left_out"}, "after": {…}}`` in order of instance."""
        query = "SELECT instance_id, part_before, left_out_before, part_after, left_out_after FROM pair WHERE moved"
        rows = self.con.execute(f"{query} ORDER BY instance_id" + limited(limit)).fetchall()
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
        return [name for (name,) in self.con.execute(query + limited(limit)).fetchall()]

    def write_flips(self, path: Path) -> None:
        """All flips as Parquet or, by the suffix, CSV: a row a flip and piece of evidence. Whole or not at all."""
        how = "HEADER" if path.suffix == ".csv" else "FORMAT parquet"
        query = "SELECT flip.instance_id, flip.class, flip.before, flip.after FROM flip"
        if self.explained:
            explain(self.con, self.specs, self.catalogs, relabelled=self.relabelled, first=None)
            listed = ", ".join(f'difference."{name}" AS evidence_{name}' for name in ("side", *COLUMNS))
            query = (
                f"SELECT flip.instance_id, flip.class, flip.before, flip.after, {listed} FROM flip"
                " LEFT JOIN difference ON flip.instance_id = difference.instance_id AND flip.class = difference.flip"
            )
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
        try:
            self.con.execute(f"COPY ({query} ORDER BY ALL) TO {sql_text(draft)} ({how})")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


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
    for side, spec in zip(SIDES, specs, strict=True):
        _once(con, side, spec)
    counts = []
    for side, spec in zip(SIDES, specs, strict=True):
        source = f"{side}.{spec.view}"
        notes = caveats(home, spec, *alone(con, source))
        counts.append(Counts(spec, None, count_rows(con, spec, f"{source} AS task"), [], notes))
    pair(con, specs)
    totals = dict(con.execute("SELECT only_on, count(*) FROM pair GROUP BY only_on").fetchall())
    everything = {
        side: whole(con, f"{side}.{spec.view}", spec) for side, spec in zip(SIDES, specs, strict=True)
    }
    ((flipped, flips),) = con.execute("SELECT count(DISTINCT instance_id), count(*) FROM flip").fetchall()
    ((moved,),) = con.execute("SELECT count(*) FROM pair WHERE moved").fetchall()
    return Comparison(
        before=counts[0],
        after=counts[1],
        specs=specs,
        instances=everything["before"]["records"] + totals.get("after", 0),
        flipped=flipped,
        flip_count=flips,
        move_count=moved,
        missing={side: totals.get(side, 0) for side in SIDES},
        by_class=ways(con),
        whole=everything,
        explained=explained,
        relabelled=_relabelled(specs, placed, variants),
        stale=tuple(dict.fromkeys(name for side in placed for name in side.stale)),
        computed={side: each.computed for side, each in zip(SIDES, placed, strict=True)},
        catalogs=(placed[0].catalog, placed[1].catalog),
        con=con,
    )


def _once(con: duckdb.DuckDBPyConnection, side: str, spec: Spec) -> None:
    """RegistryError where a side holds an instance in several rows: each of its flips would count as often."""
    query = f"SELECT instance_id, count(*) FROM {side}.{spec.view} GROUP BY instance_id HAVING count(*) > 1"
    found = con.execute(f"{query} ORDER BY instance_id LIMIT 1").fetchone()
    if found is not None:
        raise RegistryError(
            f"{spec.view}, {side} the change: found instance {found[0]!r} in {found[1]} rows; expected one",
            "look for a join that finds several rows: a map with a doubled key, or a condition that is missing",
        )


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
