"""The style sheet of a book: the one of the report, with colours that a button can switch, and the book's own rules."""

from __future__ import annotations

import re

from pipelines.pages import TEMPLATES
from warehouse.errors import RegistryError

_DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n  :root \{(.*?)\n  \}\n\}", re.S)


def style_sheet() -> str:
    """CSS. The dark colours hold where the system asks for them and where the reader does."""
    common = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    own = (TEMPLATES / "book" / "book.css").read_text(encoding="utf-8")
    found, mine = _DARK.search(common), _DARK.search(own)
    if found is None or mine is None:
        raise RegistryError(
            "style.css: found no dark colours; expected a :root in prefers-color-scheme: dark"
        )
    return _switchable(common, found) + "\n" + _switchable(own, mine)


def _switchable(css: str, dark: re.Match[str]) -> str:
    colours = dark[1]
    both = (
        f"@media (prefers-color-scheme: dark) {{\n  :root:not([data-theme=light]) {{{colours}\n  }}\n}}\n"
        f":root[data-theme=dark] {{{colours}\n}}"
    )
    return css[: dark.start()] + both + css[dark.end() :]
