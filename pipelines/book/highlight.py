"""SQL as HTML: keywords, literals and comments by DuckDB's tokens, names of views and maps as links."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import duckdb

from warehouse.views import KEYWORDS

if TYPE_CHECKING:
    from markupsafe import Markup

_KINDS = {
    duckdb.token_type.numeric_const: "sql-number",
    duckdb.token_type.string_const: "sql-text",
    duckdb.token_type.comment: "sql-note",
}
_NAME = re.compile(r"([a-z_0-9]+)\.([a-z_0-9]+)")


def highlight(sql: str, link: Callable[[str], str | None] = lambda name: None) -> Markup:
    """A SELECT with spans around its tokens; its text is unchanged.

    ``link`` gives the address of a table's name, None for a name without a page.
    """
    from markupsafe import Markup, escape

    pieces: list[str] = []
    text, at = sql.encode(), 0
    tokens = duckdb.tokenize(sql)
    ends = [start for start, _ in tokens[1:]] + [len(text)]
    for (start, kind), end in zip(tokens, ends, strict=True):
        if start < at:  # the rest of a name that has become a link
            continue
        pieces.append(str(escape(text[at:start].decode())))
        named = _NAME.match(sql, len(text[:start].decode())) if kind == duckdb.token_type.identifier else None
        address = link(named[0]) if named else None
        if named and address:
            pieces.append(str(Markup('<a href="{}">{}</a>').format(address, named[0])))
            at = start + len(named[0].encode())
            continue
        token = text[start:end].decode()
        word = token.rstrip()
        css = "sql-word" if word in KEYWORDS else _KINDS.get(kind)
        shown = escape(word) if css is None else Markup('<span class="{}">{}</span>').format(css, word)
        pieces.append(str(shown))
        pieces.append(str(escape(token[len(word) :])))
        at = end
    pieces.append(str(escape(text[at:].decode())))
    return Markup("".join(pieces))
