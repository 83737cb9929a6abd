"""What the first page says: tasks, data sets, and the lists of views and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.book import questions
from pipelines.made_up import made_up
from warehouse.load.cards import card_of, datasets
from warehouse.maps import map_digest, map_rows
from warehouse.views import LAYERS

if TYPE_CHECKING:
    from pipelines.book.site import Site


def gather(site: Site) -> dict[str, Any]:
    """By the names that ``book/index.html`` uses."""
    cards = []
    for spec in site.specs:
        total = site.ask(questions.TOTAL.format(view=spec.view)) if site.is_built(spec) else None
        cards.append({"spec": spec, "total": total, "view": site.catalog[spec.view]})
    return {"cards": cards, "datasets": _datasets(site), "street": _street(site)}


def _datasets(site: Site) -> list[dict[str, Any]]:
    found = []
    for name in datasets():
        report = site.reports.get(name)
        tables = None
        if report is not None:
            named = [f"raw_{report['schema']}.{table}" for table in report["tables"] if table != "split"]
            rows = [
                f"SELECT '{name}' AS raw_table, count(*) AS rows FROM {name}"
                for name in named
                if name in site.readable
            ]
            tables = site.ask("\nUNION ALL\n".join(rows) + "\nORDER BY raw_table") if rows else None
        made = None if report is None else made_up(site.home, report)
        found.append({"card": card_of(name), "report": report, "tables": tables, "made": made})
    return found


def _street(site: Site) -> Any:
    """How much of everything there is: one row."""
    raw = [
        f"raw_{report['schema']}.{table}"
        for report in site.reports.values()
        for table in report["tables"]
        if f"raw_{report['schema']}.{table}" in site.readable
    ]
    evidence = [
        view.name
        for view in site.catalog.values()
        if view.layer == "evidence" and view.stored and view.name in site.readable
    ]
    tasks = [spec.view for spec in site.specs if site.is_built(spec)]

    def total(names: list[str], where: str = "") -> str:
        return " + ".join(f"(SELECT count(*) FROM {name}{where})" for name in names) or "0"

    return site.ask(
        f"SELECT\n    {total(raw)} AS raw_rows\n"
        f"    , {total(evidence)} AS evidence\n"
        f"    , {total(tasks)} AS instances\n"
        f"    , {total(tasks, ' WHERE scored')} AS scored"
    )


def views(site: Site) -> dict[str, Any]:
    """By the names that ``book/views.html`` uses: schema → views, in the order of layers."""
    schemas: dict[str, list] = {}
    for view in sorted(site.catalog.values(), key=lambda view: (LAYERS.index(view.layer), view.name)):
        schemas.setdefault(view.schema, []).append(view)
    return {"schemas": dict(sorted(schemas.items()))}


def maps(site: Site) -> dict[str, Any]:
    """By the names that ``book/maps.html`` uses."""
    return {
        "sizes": site.ask(questions.maps_query(site.maps)),
        "maps": [
            {
                "name": f"map.{name}",
                "columns": list(map_rows(name)[0]),
                "digest": map_digest(name),
                "children": site.children.get(f"map.{name}", []),
            }
            for name in site.maps
        ],
    }
