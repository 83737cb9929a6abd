"""What the registry says of a task in plain words: ``registry/book/<slug>@<version>.json``.

Beside the spec and not in it, because a spec has a digest that scores are tied to and words may be mended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, takewhile
from textwrap import dedent

from warehouse.errors import RegistryError
from warehouse.project import registry_path
from warehouse.spec import Spec
from warehouse.views import View


@dataclass(frozen=True)
class Prose:
    """``rule``: paragraphs. ``read_first``: title and text of what surprises. ``limits``: sentences."""

    rule: tuple[str, ...] = ()
    read_first: tuple[tuple[str, str], ...] = ()
    limits: tuple[str, ...] = ()


def read_prose(spec: Spec) -> Prose:
    """The words for a task, empty where nobody has written any. Raises RegistryError for a file of another shape."""
    path = registry_path("book", f"{spec.name}.json")
    if not path.is_file():
        return Prose()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Prose(
            _texts(data["rule"]),
            tuple((str(each["title"]), str(each["text"])) for each in data["read_first"]),
            _texts(data["limits"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegistryError(
            f"{path}: found {type(error).__name__}: {error}; expected rule, read_first (title, text) and limits"
        ) from error


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError(f"{value!r:.40} is no list of texts")
    return tuple(value)


def blocks(view: View) -> list[tuple[str, str]]:
    """The prose of a view's header as blocks: ('text', a paragraph) or ('table', lines laid out in columns)."""
    lines = view.path.read_text(encoding="utf-8").splitlines()
    header = list(takewhile(lambda line: line.startswith("--"), lines))
    prose = header[header.index("--") + 1 :]
    found: list[tuple[str, str]] = []
    for is_empty, group in groupby(prose, key=lambda line: not line[2:].strip()):
        block = [line[3:] for line in group]
        laid_out = next((n for n, line in enumerate(block) if "   " in line.strip()), len(block))
        if is_empty:
            continue
        if laid_out:
            found.append(("text", " ".join(line.strip() for line in block[:laid_out])))
        if laid_out < len(block):
            found.append(("table", dedent("\n".join(block[laid_out:]))))
    return found


def options(data: Mapping, prefix: str = "") -> list[tuple[str, str]]:
    """A spec's nested keys as lines: a path and its value as text."""
    lines: list[tuple[str, str]] = []
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            lines += options(value, f"{name}.")
        elif isinstance(value, list):
            lines.append((name, ", ".join(map(str, value))))
        else:
            lines.append((name, str(value)))
    return lines
