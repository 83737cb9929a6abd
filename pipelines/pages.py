"""What every HTML page of ours is made with: one jinja2 environment, and how numbers and names are set on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"


def environment() -> Environment:
    """Templates below ``templates/``; whatever comes out of data or the registry is escaped, a missing name fails."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from pipelines import charts

    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"n": number, "fixed": fixed, "percent": percent, "words": words}
    made.filters |= {"paragraph": first_paragraph, "gist": gist, "sentence": sentence, "said": said}
    made.globals |= {"charts": charts}
    return made


def first_paragraph(description: str) -> Markup:
    """The first paragraph of a view's header; what it has between backquotes is set as code."""
    return said(" ".join(description.split("\n\n")[0].split()))


def said(text: str) -> Markup:
    """A text of the registry or of a header; what it has between backquotes is set as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def gist(note: str | None) -> str:
    """The first clause of a map's note, which names the thing; what follows is about the files."""
    return (note or "").split(";")[0]


def sentence(text: str) -> str:
    """A text as a sentence of its own; only its first letter changes."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def number(value: int) -> str:
    return f"{value:,}"


def fixed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: float, of: float) -> str:
    return f"{100 * value / of:.1f} %" if of else "–"


def words(name: str) -> str:
    """A column's or a rule's name as words."""
    return name.replace("_", " ")
