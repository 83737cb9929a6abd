"""Two versions of a view side by side: what becomes of a task when one takes the other's place.

The question is one SELECT: the views between the version and the task stand in it as they are, each as a CTE of its
own name, with the other version's text at their head. So it runs wherever the home's views do.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.book.questions import class_columns

if TYPE_CHECKING:
    from pipelines.answers import Answer
    from pipelines.book.site import Site
    from warehouse.spec import Spec
    from warehouse.views import Catalog, View


@dataclass(frozen=True)
class Version:
    """``other`` in the place of ``used`` in ``task``; ``flips`` has a row a class."""

    used: View
    other: View
    task: Spec
    flips: Answer


def versions_of(site: Site, view: View) -> list[View]:
    """The other versions of a view, by number."""
    return [each for each in site.catalog.values() if each.alias == view.alias and each != view]


def compared(site: Site, view: View) -> list[Version]:
    """What the other versions would do to every built task that rests on one of them."""
    if view.layer in ("task", "report", "audit"):
        return []
    found = []
    for other in versions_of(site, view):
        for used, new in ((view, other), (other, view)):
            if not {used.name, new.name} <= site.computable:
                continue
            for spec in site.tasks_of(used.name):
                if site.is_built(spec) and spec not in site.tasks_of(new.name):
                    flips = site.ask(flips_query(site.catalog, spec, used, new, site.readable))
                    found.append(Version(used, new, spec, flips))
    return found


def flips_query(
    catalog: Catalog, spec: Spec, used: View, other: View, readable: Collection[str] | None = None
) -> str:
    """Counts per class with ``used`` and with ``other``, and how many instances gain and lose the class.

    ``readable``: names that can be read; a view that is none of them stands in the query as well. All where None.
    """
    between = [view for view in catalog.lineage([spec.view]) if used in catalog.lineage([view.name])]
    absent = [
        view
        for view in catalog.lineage([spec.view, other.name])
        if readable is not None and view.name not in readable and view not in (*between, other)
    ]
    names = {view.name for view in (*absent, *between)}
    texts = {view.name: other.sql if view is used else view.sql for view in (*absent, *between)}
    ctes = [f'"{name}" AS (\n{_named(text, names)}\n)' for name, text in texts.items()]
    rows = []
    for place, (name, condition) in enumerate(class_columns(spec)):
        before, after = (f"coalesce({condition.format(table=table)}, FALSE)" for table in ("before", "after"))
        rows.append(
            f"SELECT\n    {place} AS place\n    , {_text(name)} AS class\n"
            f"    , count(*) FILTER ({before}) AS before\n"
            f"    , count(*) FILTER ({after}) AS after\n"
            f"    , count(*) FILTER ({after}) - count(*) FILTER ({before}) AS difference\n"
            f"    , count(*) FILTER ({after} AND NOT {before}) AS gained\n"
            f"    , count(*) FILTER ({before} AND NOT {after}) AS lost\n"
            f"    , count(*) FILTER ({after} AND NOT {before} AND after.left_out IS NULL) AS gained_used\n"
            f"    , count(*) FILTER ({before} AND NOT {after} AND before.left_out IS NULL) AS lost_used\n"
            f"FROM {spec.view} AS before\n"
            "FULL JOIN after ON before.instance_id = after.instance_id"
        )
    ctes.append(f'after AS MATERIALIZED (\nSELECT *\nFROM "{spec.view}"\n)')
    return "WITH " + "\n\n, ".join(ctes) + "\n\n" + "\n\nUNION ALL\n".join(rows) + "\nORDER BY place"


def parts_query(one: Spec, other: Spec) -> str:
    """How many instances lie in which part of two versions of a task."""
    return f"""
    SELECT
        coalesce(before.part, 'unassigned') AS part_v{one.version}
        , coalesce(after.part, 'unassigned') AS part_v{other.version}
        , count(*) AS instances
        , count(DISTINCT coalesce(before.record_id, after.record_id)) AS records
    FROM {one.view} AS before
    FULL JOIN {other.view} AS after ON before.instance_id = after.instance_id
    GROUP BY ALL
    ORDER BY ALL
    """


def _named(sql: str, names: set[str]) -> str:
    """A SELECT that reads CTEs in the place of the views of the same names."""
    return re.sub(
        r"\b[a-z_0-9]+\.[a-z_0-9]+\b", lambda found: f'"{found[0]}"' if found[0] in names else found[0], sql
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
