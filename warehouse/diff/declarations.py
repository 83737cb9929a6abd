"""What changed between two JSON declarations (task specs, splits): paths with their old and new values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from warehouse.diff.change import Change, cut

KEYS = ("part", "name")
"""What names an item of a list of objects."""

_NOTHING = object()


def declaration_changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> list[Change]:
    """``path: old became new`` for every value that differs; None stands for no declaration."""
    if before is None or after is None:
        return [Change("declaration", "", "declared now" if before is None else "not declared any more")]
    return [_change(path, old, new) for path, old, new in _differences(before, after, "")]


def _differences(before: Any, after: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, list) and isinstance(after, list):
        named = _named(before), _named(after)
        if None not in named:
            before, after = named
        elif all(isinstance(item, str | int | float) for item in (*before, *after)):
            yield from ((path, item, _NOTHING) for item in before if item not in after)
            yield from ((path, _NOTHING, item) for item in after if item not in before)
            if sorted(map(str, before)) == sorted(map(str, after)):
                yield path, before, after
            return
        else:
            yield path, before, after
            return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            below = f"{path}.{key}" if path else str(key)
            yield from _differences(before.get(key, _NOTHING), after.get(key, _NOTHING), below)
        return
    yield path, before, after


def _named(items: list) -> dict[str, Any] | None:
    """A list of objects by the key that names them; None where it does not."""
    for key in KEYS:
        if items and all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in items):
            names = [item[key] for item in items]
            if len({*names}) == len(names):
                return dict(zip(names, items, strict=True))
    return None


def _change(path: str, before: Any, after: Any) -> Change:
    if before is _NOTHING:
        return Change("declaration", "", f"{path}: {cut(_text(after))} added", None, _text(after))
    if after is _NOTHING:
        return Change("declaration", "", f"{path}: {cut(_text(before))} removed", _text(before), None)
    old, new = _text(before), _text(after)
    return Change("declaration", "", f"{path}: {cut(old)} became {cut(new)}", old, new)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
