"""From a language model's answer to label names.

The rule, under the version `PARSER`:

- The last JSON object with a key ``labels`` in the answer counts, wherever it stands: in a fence, in prose,
  inside another object or a list. An object inside one that counts is a part of it. What is cut off, or is
  not JSON to the letter (single quotes, a comma too many), is no object. The key is written plainly.
- ``labels`` is a list, or a text of names joined by commas, or null for none; an object in which it is
  something else does not count.
- Names are compared without regard to case and to the width of spaces; other names, and what is no text,
  are ignored.
- An answer without such an object has no labels and is *unparsed*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

PARSER = "leadhouse-labels-json-v0"
"""The version of the rule above: another rule gets another one."""

KEY = "labels"

OPENING = re.compile(r"\{\s*\"")
"""Where an object can begin. A try costs as much as the text is long: braces in prose are passed over."""


def parse_answer(answer: str, classes: Sequence[str]) -> frozenset[str] | None:
    """The classes that an answer names, or None when it is unparsed."""
    counted = None
    for value in json_values(answer):
        for found in _objects(value):
            counted = found
    if counted is None:
        return None
    known = {_plain(name): name for name in classes}
    named = (_plain(item) for item in _items(counted[KEY]) if isinstance(item, str))
    return frozenset(known[name] for name in named if name in known)


def json_values(text: str) -> Iterator[Any]:
    """The JSON objects in a text, one after the other, none inside another, up to the last with the key."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    last = text.rfind(f'"{KEY}"')
    start = OPENING.search(text)
    while start is not None and start.start() < last:
        end = start.start() + 1
        try:
            value, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            pass
        else:
            yield value
        start = OPENING.search(text, end)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """The outermost objects with usable labels in a JSON value, in the order of the text."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, dict) and KEY in found and isinstance(found[KEY], list | str | None):
            yield found
        elif isinstance(found, dict | list):
            pending += reversed(list(found.values()) if isinstance(found, dict) else found)


def _items(labels: list | str | None) -> Sequence[Any]:
    return labels.split(",") if isinstance(labels, str) else labels or ()


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
