"""Why instances flip: the rows of a task's why view, ``task.<slug>_why_v<N>``, that one side alone accepts.

The why view carries the rows that make the label, so a flip without such a row is an error of ours, unless a label or
task view itself differs: then the same rows add up otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from warehouse.database import sql_text
from warehouse.few import define_few
from warehouse.spec import Spec
from warehouse.views import Catalog

SIDES = ("before", "after")
KEY = ("class", "kind", "rule", "value", "source", "source_no")
"""What makes two rows of a why view the same piece of evidence."""

COLUMNS = (
    *("class", "kind", "rule", "value", "reason", "view", "source", "source_no"),
    *("source_file", "first_row", "last_row", "said", "words"),
)
"""Columns of a why view that evidence carries."""

DECISIVE = "(kind = 'candidate' AND accepted) OR (kind = 'exclusion' AND NOT accepted)"
"""The rows that a label is made of: candidates that are accepted, exclusions that stand."""


def why_view(spec: Spec) -> str:
    """The name of a task's why view: a row a piece of evidence of every instance."""
    stem, _, version = spec.view.rpartition("_v")
    return f"{stem}_why_v{version}"


def explain(
    con: duckdb.DuckDBPyConnection,
    specs: tuple[Spec, Spec],
    catalogs: tuple[Catalog, Catalog],
    *,
    relabelled: bool,
    first: int | None,
) -> None:
    """Fill table ``difference`` (side, flip, instance_id, COLUMNS): for each flip (``flip`` is its class), or the first
    so many, the decisive rows that one side alone has.

    A row concerns a flip when it is of the flip's class, or of a name that is no class of the task (any, normal).
    ``relabelled``: a flip for which no row differs gets the rows of both sides, with side ``both``. ``catalogs``: the
    views of either side. Only the records that flip are computed.
    """
    con.execute(f"CREATE OR REPLACE TABLE wanted AS FROM flip ORDER BY instance_id, place{limited(first)}")
    shown = ", ".join(f'why."{name}"' for name in COLUMNS)
    cut: dict[tuple, str] = {}
    for side, spec, catalog in zip(SIDES, specs, catalogs, strict=True):
        few = f"few_{side}"
        define_few(con, side, few, catalog, spec, catalog[why_view(spec)], "wanted", cut)
        con.execute(
            f"CREATE OR REPLACE TABLE decisive_{side} AS SELECT why.instance_id, {shown} "
            f"FROM {few}.{why_view(spec)} AS why "
            f"WHERE ({DECISIVE}) AND why.instance_id IN (SELECT instance_id FROM wanted)"
        )
    for side in SIDES:
        con.execute(f"DETACH few_{side}")
    known = ", ".join(sql_text(name) for spec in specs for name in spec.classes)
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
    if relabelled:
        con.execute(
            f"INSERT INTO difference SELECT 'both', wanted.class, mine.* FROM decisive_after AS mine {joined} "
            "WHERE NOT EXISTS (SELECT 1 FROM difference AS theirs "
            "WHERE theirs.instance_id = wanted.instance_id AND theirs.flip = wanted.class)"
        )


def differences(con: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, dict]]:
    """What :func:`explain` found: (instance_id, class of the flip, ``{"side", COLUMNS}``), the side before first."""
    names = ("side", *COLUMNS)
    columns = ", ".join(f'"{name}"' for name in names)
    rows = con.execute(
        f"SELECT instance_id, flip, {columns} FROM difference ORDER BY instance_id, flip, side DESC, {columns}"
    )
    while block := rows.fetchmany(10_000):
        for instance, name, *values in block:
            yield instance, name, dict(zip(names, values, strict=True))


def limited(first: int | None) -> str:
    return "" if first is None else f" LIMIT {first}"
