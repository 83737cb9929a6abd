"""What the page of a map says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.book import graph
from warehouse.maps import map_digest

if TYPE_CHECKING:
    from pipelines.book.site import Site


def gather(site: Site, name: str) -> dict[str, Any]:
    """By the names that ``book/map.html`` uses."""
    full = f"map.{name}"
    children = site.children.get(full, [])
    columns = {full: 0} | {child.name: 1 for child in children}
    return {
        "name": full,
        "file": f"registry/maps/{name}.csv",
        "digest": map_digest(name),
        "rows": site.ask(f"SELECT *\nFROM {full}"),
        "size": site.ask(f"SELECT count(*) AS rows FROM {full}"),
        "children": children,
        "tasks": site.tasks_of(full),
        "picture": graph.draw(
            {child.name: (full,) for child in children}, {each: each for each in columns}, columns
        ),
    }
