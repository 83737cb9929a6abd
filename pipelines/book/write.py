"""Writing a book: every page into a draft folder, which then takes its name."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pipelines.book import front, maps, tasks, views
from pipelines.book.cells import cell, shown, sql_id
from pipelines.book.highlight import highlight
from pipelines.book.site import Site
from pipelines.book.style import style_sheet
from pipelines.makers import maker
from pipelines.pages import TEMPLATES, environment
from warehouse.errors import UsageError
from warehouse.home import Home, read_pinned, take_place, writing

MARK = "book.json"
"""The file that says which files of a folder are the book's."""
FORMAT = 1


def write_book(home: Home, out: Path | None = None) -> Path:
    """Write the book of a home into the folder ``out`` (``<home>/docs`` where None) and return it.

    The same home gives the same bytes. A book that is there is replaced as a whole. Raises UsageError where ``out``
    is anything but a book or an empty folder, HomeError when nothing is loaded or the place cannot be written.
    """
    out = (home.path / "docs" if out is None else out).absolute()
    refuse_strangers(out)
    pages = read_pinned(home, lambda pinned: dict(render(Site.open(pinned))))
    option = "OUT"
    with writing(out.parent, option):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = out.with_name(f".{out.name}.{uuid.uuid4().hex[:12]}")
        try:
            _write(draft, pages)
            refuse_strangers(out)
            take_place(draft, out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return out


def render(site: Site) -> Iterator[tuple[str, str]]:
    """File below the book → its text."""
    for name, page in pages_of(site).items():
        yield name, page()
    yield "book.css", style_sheet()
    yield "book.js", (TEMPLATES / "book" / "book.js").read_text(encoding="utf-8")


def pages_of(site: Site) -> dict[str, Callable[[], str]]:
    """File below the book → what writes that page; nothing is asked before."""
    made = environment()
    made.filters |= {"shown": shown, "sql_id": sql_id}
    made.globals |= {"cell": cell, "site": site, "maker": maker, "highlight": highlight}

    def page(
        template: str, here: str, gather: Callable[..., dict[str, Any]], *what: Any
    ) -> Callable[[], str]:
        root = "../" if what else ""

        def to(name: str) -> str | None:
            address = site.href(name)
            return None if address is None else root + address

        def write() -> str:
            frame = {"root": root, "here": here, "to": to}
            return made.get_template(f"book/{template}").render(gather(site, *what) | frame)

        return write

    pages = {
        "index.html": page("index.html", "index", front.gather),
        "views.html": page("views.html", "views", front.views),
        "maps.html": page("maps.html", "maps", front.maps),
    }
    pages |= {
        str(site.href(spec.name)): page("task.html", "tasks", tasks.gather, spec) for spec in site.specs
    }
    pages |= {
        str(site.href(view.name)): page("view.html", "views", views.gather, view)
        for view in site.catalog.values()
    }
    pages |= {f"maps/{name}.html": page("map.html", "maps", maps.gather, name) for name in site.maps}
    return pages


def refuse_strangers(out: Path) -> None:
    """Raise UsageError where ``out`` holds anything that no book wrote: it would be lost."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError(
            f"{out}: found {'a link' if out.is_symlink() else 'a file'}; expected a folder, or nothing",
            "pass another OUT",
        )
    if not out.exists():
        return
    there = {str(path.relative_to(out)) for path in out.rglob("*") if not path.is_dir()}
    strangers = sorted(there - _own(out))
    if strangers:
        raise UsageError(
            f"{out}: found {strangers[0]}{f' and {len(strangers) - 1} more files' if strangers[1:] else ''} that the "
            "label book did not write; expected an empty folder or an earlier book",
            "pass another OUT, or move what is there",
        )


def _own(out: Path) -> set[str]:
    """The files that an earlier book says it has, its mark among them; none where there is no mark that can be read."""
    try:
        mark = json.loads((out / MARK).read_text(encoding="utf-8"))
        return {MARK, *mark["files"]} if mark["written_by"] == "leadhouse docs" else set()
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _write(draft: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        (draft / name).write_text(text, encoding="utf-8", newline="\n")
    files = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sorted(pages.items())}
    mark = {"written_by": "leadhouse docs", "format": FORMAT, "files": files}
    (draft / MARK).write_text(json.dumps(mark, indent=1) + "\n", encoding="utf-8", newline="\n")
