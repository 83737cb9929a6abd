"""View files: a header of comments and one SELECT.

``sql/<schema>/<name>_v<N>.sql`` defines ``<schema>.<name>_v<N>``. What an auditor reads in the file is the text
that runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb

from warehouse.engine import engine
from warehouse.errors import RegistryError, UsageError
from warehouse.project import sql_root

LAYERS = ("staging", "evidence", "label", "task", "report", "audit")
"""A view reads its own layer or an earlier one."""

KEYS = ("layer", "grain", "shard", "stored", "status", "source")
STATUSES = ("draft", "released")
OUTSIDE = re.compile(r"(raw_[a-z0-9_]+|map|split|image)\.[a-z0-9_]+")
"""Names that are no views: what ``load`` wrote, maps and splits, tables of images."""

KEYWORDS = frozenset(
    """
    ALL AND ANTI AS ASC BETWEEN BY CASE CAST CROSS CURRENT DESC DISTINCT ELSE END EXCEPT EXISTS FALSE FILTER FOLLOWING
    FROM FULL GROUP HAVING IN INNER INTERSECT IS JOIN LATERAL LEFT LIKE LIMIT NOT NULL NULLS OFFSET ON OR ORDER
    ORDINALITY OUTER OVER PARTITION PRECEDING QUALIFY RANGE RECURSIVE RIGHT ROW ROWS SELECT SEMI THEN TRUE UNBOUNDED
    UNION USING VALUES WHEN WHERE WINDOW WITH
    BIGINT BOOLEAN DATE DECIMAL DOUBLE FLOAT INTEGER SMALLINT TIMESTAMP TINYINT VARCHAR
    """.split()  # noqa: SIM905
)
"""Words whose letter case a fingerprint does not see. Our own list: an engine's moves with its versions, a lock must
not."""

_FILE = re.compile(r"([a-z][a-z0-9_]*)_v(\d+)\.sql")
_TITLE = re.compile(r"-- ([a-z0-9_]+)\.([a-z0-9_]+) v(\d+)")


@dataclass(frozen=True)
class View:
    """One view file. ``grain`` and ``shard`` are column names; ``description`` is the prose of the header."""

    schema: str
    stem: str
    version: int
    layer: str
    grain: tuple[str, ...]
    shard: str | None
    stored: bool
    status: str
    source: str
    description: str
    sql: str
    path: Path

    @property
    def name(self) -> str:
        """``<schema>.<stem>_v<N>``, the name in SQL."""
        return f"{self.schema}.{self.stem}_v{self.version}"

    @property
    def alias(self) -> str:
        """``<schema>.<stem>``, the name without a version."""
        return f"{self.schema}.{self.stem}"

    @property
    def file(self) -> str:
        """Where the built view lies below ``data/built``."""
        return f"{self.schema}/{self.stem}_v{self.version}.parquet"

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The tables that the SELECT reads, CTEs left out, names in order."""
        tables: set[str] = set()

        def collect(node: dict) -> dict | None:
            if node.get("type") == "BASE_TABLE" and node.get(
                "schema_name"
            ):  # a name without a schema is a CTE
                tables.add(f"{node['schema_name']}.{node['table_name']}")
            return node if "error" in node else None

        tree = json.loads(syntax_tree(self.sql), object_hook=collect)
        if tree["error"]:
            raise RegistryError(
                f"{self.path}: found {tree['error_message']}; expected one SELECT that DuckDB takes",
                "mend the SELECT",
            )
        return tuple(sorted(tables))

    @cached_property
    def sql_fingerprint(self) -> str:
        return fingerprint_sql(self.sql)


_trees: dict[str, str] = {}
"""SELECT → its tree as DuckDB serialises it."""


def syntax_tree(sql: str) -> str:
    """DuckDB's tree of a SELECT as JSON text; ``error`` is true in it for a text that DuckDB cannot parse."""
    if sql not in _trees:
        _parse([sql])
    return _trees[sql]


def _parse(texts: list[str]) -> None:
    """Fill ``_trees``. All views in one query take half the time of a query each."""
    texts = [text for text in texts if text not in _trees]
    if texts:
        query = "SELECT sql, json_serialize_sql(sql, skip_default := true) FROM unnest(?) AS text (sql)"
        _trees.update(engine().execute(query, [texts]).fetchall())


def fingerprint_sql(sql: str) -> str:
    """sha256 (hex) over the token stream: comments, layout and the letter case of KEYWORDS do not count."""
    words = [word if (word := text.upper()) in KEYWORDS else text for text in tokens(sql)]
    return hashlib.sha256("".join(f"{word}\0" for word in words).encode()).hexdigest()


def tokens(sql: str) -> Iterator[str]:
    """The tokens of a SQL text as they stand in it, comments left out."""
    found, text = duckdb.tokenize(sql), sql.encode()  # DuckDB counts bytes
    ends = [start for start, _ in found[1:]] + [len(text)]
    for (start, kind), end in zip(found, ends, strict=True):
        if kind != duckdb.token_type.comment:
            yield text[start:end].decode().rstrip()


def read_view(path: Path) -> View:
    """Parse one view file. Raises RegistryError naming the file and what its header lacks."""
    match = _FILE.fullmatch(path.name)
    if match is None:
        raise RegistryError(f"{path}: found this file name; expected <name>_v<N>.sql in lower case")
    stem, version = match[1], int(match[2])
    lines = path.read_text(encoding="utf-8").splitlines()
    size = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    header, sql = lines[:size], "\n".join(lines[size:]).strip()
    title = _TITLE.fullmatch(header[0]) if header else None
    wanted = (path.parent.name, stem, str(version))
    if title is None or title.groups() != wanted:
        raise RegistryError(
            f"{path}: found {header[0] if header else 'no header'!r} in line 1; "
            f"expected '-- {wanted[0]}.{wanted[1]} v{wanted[2]}'"
        )
    values: dict[str, str] = {}
    prose: list[str] = []
    for number, line in enumerate(header[1:], start=2):
        text = line[2:].strip()
        key, colon, value = text.partition(":")
        if not prose and colon and key in KEYS:
            values[key] = value.strip()
        elif prose or text == "":
            prose.append(text)
        else:
            raise RegistryError(
                f"{path}, row {number}: found {line!r}; expected one of {', '.join(KEYS)}, or an empty comment"
            )
    missing = [key for key in KEYS if not values.get(key)]
    if missing or not "".join(prose).strip():
        lacking = missing or ["a description"]
        raise RegistryError(
            f"{path}: the header lacks {', '.join(lacking)}; expected all of {', '.join(KEYS)}"
        )
    for key, allowed in (("layer", LAYERS), ("stored", ("yes", "no")), ("status", STATUSES)):
        if values[key] not in allowed:
            raise RegistryError(f"{path}: found {key}: {values[key]}; expected one of {', '.join(allowed)}")
    if not sql:
        raise RegistryError(f"{path}: found no SELECT below the header; expected one")
    return View(
        schema=path.parent.name,
        stem=stem,
        version=version,
        layer=values["layer"],
        grain=() if values["grain"] == "none" else _names(values["grain"]),
        shard=None if values["shard"] == "none" else values["shard"],
        stored=values["stored"] == "yes",
        status=values["status"],
        source=values["source"],
        description="\n".join(prose).strip(),
        sql=sql.rstrip(";").rstrip(),
        path=path,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


class Catalog(Mapping[str, View]):
    """All views by name, parents before children.

    A view is parsed when somebody asks what it reads: a command that needs one lineage parses that alone, and a fault
    in the graph (RegistryError) shows where views are walked.
    """

    def __init__(self, views: Iterable[View]) -> None:
        self.named = {view.name: view for view in sorted(views, key=lambda view: view.name)}
        """Every view by name, in no order of the graph and without a parse."""

    @classmethod
    def read(cls, root: Path | None = None) -> Catalog:
        """The views of ``sql/`` (or of another folder laid out alike)."""
        root = sql_root() if root is None else root
        return cls(read_view(path) for path in sorted(root.glob("*/*.sql")))

    @cached_property
    def _order(self) -> dict[str, View]:
        _parse([view.sql for view in self.named.values()])
        return _ordered(self.named, list(self.named))

    def __getitem__(self, name: str) -> View:
        return self.named[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self.named)

    def parents(self, view: View) -> list[View]:
        """The views that a view reads itself."""
        return [self[name] for name in view.reads if name in self]

    def inputs(self, view: View) -> list[str]:
        """The raw tables, maps and splits that a view reads itself."""
        return [name for name in view.reads if name not in self]

    def lineage(self, names: Iterable[str]) -> list[View]:
        """The named views with all their ancestors, parents first."""
        wanted: set[str] = set()
        front = set(names)
        while front:
            _parse([self[name].sql for name in sorted(front)])
            wanted |= front
            front = {name for child in front for name in self[child].reads if name in self} - wanted
        return list(_ordered(self.named, sorted(wanted)).values())

    def newest(self) -> dict[str, View]:
        """Alias → the newest released version; where none is released, the newest draft that a view reads; else the
        newest draft.

        So the name without a version is what the labels are made of: a draft beside it is a proposal, which moves the
        name when it is released, or when the other views read it.
        """
        versions: dict[str, list[View]] = {}
        for view in self.named.values():
            versions.setdefault(view.alias, []).append(view)
        return {alias: self._newest_of(views) for alias, views in sorted(versions.items())}

    def _newest_of(self, views: list[View]) -> View:
        views = sorted(views, key=lambda view: view.version)
        released = [view for view in views if view.status == "released"]
        drafts = [view for view in views if len(views) > 1 and not released and self._is_read(view)]
        return (released or drafts or views)[-1]

    def _is_read(self, view: View) -> bool:
        """Whether the text of another view names it; cheaper than to parse all views."""
        name = re.compile(rf"\b{re.escape(view.name)}\b")
        others = (other.sql for other in self.named.values() if other is not view)
        return any(view.name in sql and name.search(sql) for sql in others)

    def resolve(self, text: str) -> View:
        """``schema.name``, ``schema.name@N`` or ``schema.name_vN``. Raises UsageError with close names."""
        import difflib

        name = text.replace("@", "_v")
        view = self.get(name) or self.newest().get(name)
        if view is None:
            close = difflib.get_close_matches(name, [*self.named, *self.newest()], n=4, cutoff=0.4)
            raise UsageError(
                f"found no view {text!r}; expected one of `views`"
                + (f", perhaps {', '.join(close)}" if close else "")
            )
        return view


def _ordered(views: Mapping[str, View], names: list[str]) -> dict[str, View]:
    """The named views and their ancestors in topological order. Raises RegistryError on an unknown name, a cycle or a
    layer going back."""
    order: dict[str, View] = {}
    path: list[str] = []

    def visit(view: View) -> None:
        if view.name in order:
            return
        if view.name in path:
            raise RegistryError(
                f"{view.path}: found a circle {' → '.join([*path, view.name])}; expected none"
            )
        path.append(view.name)
        for name in view.reads:
            parent = views.get(name)
            if parent is None:
                if not OUTSIDE.fullmatch(name):
                    raise RegistryError(
                        f"{view.path}: found it reads {name}; expected a view with its version, "
                        "raw_<schema>.<table>, map.<name>, split.<name> or image.<task>"
                    )
                continue
            if LAYERS.index(parent.layer) > LAYERS.index(view.layer):
                raise RegistryError(
                    f"{view.path}: layer {view.layer} reads {parent.name} of the later layer {parent.layer}"
                )
            visit(parent)
        path.pop()
        order[view.name] = view

    for name in names:
        visit(views[name])
    return order
