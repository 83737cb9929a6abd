"""The keys of a checkpoint held against those of an encoder, by its card's rules: each is accounted for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from models.encoders.card import Rules
from models.encoders.stubs import Name, Stub

SHOWN = 10
"""How many keys a message spells out."""
TRIED = 10
"""How many beginnings of keys are taken off for a try."""


@dataclass
class Match:
    """``weights``: our key → the file's tensor as it is there, until `release`. All other fields name keys, ours or
    the file's. ``beginning``: what the keys have before those that would fit, when all were dropped
    (`look_for_beginning`)."""

    container: str | None
    in_file: int = 0
    weights: dict[str, torch.Tensor] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, list[str]] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    filled: dict[str, str] = field(default_factory=dict)
    casts: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    collisions: dict[str, list[str]] = field(default_factory=dict)
    shapes: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    kinds: dict[str, tuple[str, str]] = field(default_factory=dict)
    unequal: dict[str, str] = field(default_factory=dict)
    not_finite: list[str] = field(default_factory=list)
    places: str = ""
    beginning: str = ""

    @property
    def whole(self) -> bool:
        return self.container is not None and not any(getattr(self, name) for name in FAULTS)

    def release(self) -> None:
        """Lets go of the tensors, and with them of the file."""
        self.weights.clear()

    def faults(self) -> list[str]:
        """A line for each kind of fault, with the first keys and how many there are."""
        if self.container is None:
            return [self.places]
        lines = [
            f"{len(found):,} {words}: {shown(_described(name, found))}"
            for name, words in FAULTS.items()
            if (found := getattr(self, name))
        ]
        if self.missing and self.all_dropped:
            lines.append(f"all {self.in_file:,} keys of the file were dropped by {shown(list(self.dropped))}")
        prefix = self.beginning or self._prefix()
        return lines + ([f"without their beginning {prefix!r} they fit"] if prefix else [])

    @property
    def all_dropped(self) -> bool:
        """A rule of the card covers every key: none of them is the encoder's."""
        return self.in_file > 0 and sum(map(len, self.dropped.values())) == self.in_file

    def _prefix(self) -> str:
        """What every unexpected key has before the name of a missing one, such as ``module.``."""
        first = self.unexpected[0] if self.unexpected and self.missing else ""
        prefixes = (first.removesuffix(own) for own in self.missing if first.endswith(own))
        return next(
            (each for each in prefixes if {each + own for own in self.missing} <= set(self.unexpected)), ""
        )


FAULTS = {
    "unexpected": "keys that no rule of the card covers",
    "missing": "keys that are missing",
    "collisions": "keys that come from two of the file's",
    "shapes": "keys with another shape",
    "kinds": "keys with another kind of value",
    "unequal": "keys of one tensor with two values",
    "not_finite": "keys with NaN or infinite weights",
}


def shown(names: list[str]) -> str:
    """The first ten and how many more, on one line whatever a file calls its keys."""
    clean = [each if each.isprintable() else each.encode("unicode_escape").decode() for each in names[:SHOWN]]
    clean = [each if len(each) <= 200 else f"{each[:200]}…" for each in clean]
    more = len(names) - SHOWN
    return ", ".join(clean) + (f" and {more:,} more" if more > 0 else "")


def _described(name: str, found: Any) -> list[str]:
    if name in ("shapes", "kinds"):
        return [f"{key} (found {there}, expected {here})" for key, (there, here) in found.items()]
    if name == "collisions":
        return [f"{key} (from {' and '.join(origins)})" for key, origins in found.items()]
    if name == "unequal":
        return [f"{key} and {twin}" for key, twin in found.items()]
    return found


def match(tree: Any, rules: Rules, module: nn.Module) -> Match:
    """The state dict in ``tree`` against that of ``module``, which may be on the meta device; no value is looked at.

    The card's rules in this order: container, strip, drop, rename; then shapes and kinds of values are compared and
    keys of one tensor (aliases) fill each other.
    """
    place, holder = _locate(tree, rules.containers)
    if place is None:
        return Match(None, places=_places(tree, rules.containers))
    found = Match(place, in_file=len(holder))
    renamed = _rename(found, holder, rules)
    own = module.state_dict(keep_vars=True)
    for key, value in renamed.items():
        if key not in own:
            found.unexpected.append(found.renamed.pop(key, key))
        elif fault := _compare(key, value, own[key], found):
            found.kinds[key] = fault
    twins = aliases(own)
    found.used = list(found.weights)
    wrong = {*found.shapes, *found.kinds, *found.collisions}
    for key in own:
        if key in found.weights or key in wrong:
            continue
        twin = next((each for each in twins.get(key, ()) if each in found.weights), None)
        if twin is not None:
            found.filled[key] = twin
        elif any(re.search(pattern, key) for pattern in rules.may_lack):
            found.lacking.append(key)
        else:
            found.missing.append(key)
    return found


def look_for_beginning(found: Match, tree: Any, rules: Rules, module: nn.Module) -> None:
    """Notes what to take off the keys so that they fit, where the card's rules dropped all of them."""
    if not (found.missing and found.all_dropped):
        return
    _, holder = _locate(tree, rules.containers)
    counts: Counter[str] = Counter()
    for key in holder:
        parts = _text(key).split(".")[:5]
        counts.update(".".join(parts[:depth]) + "." for depth in range(1, len(parts)))
    there = replace(rules, containers=("",))
    for beginning, _ in counts.most_common(TRIED):
        shorter = {_text(key).removeprefix(beginning): value for key, value in holder.items()}
        if match(shorter, there, module).whole:
            found.beginning = beginning
            return


def look_at_values(found: Match, module: nn.Module) -> None:
    """Faults that only the numbers show: NaN, infinity (also one that a cast would make), a variance below zero,
    aliases that differ."""
    own = module.state_dict(keep_vars=True)
    for key, value in found.weights.items():
        cast = value.to(own[key].dtype)
        if cast.is_floating_point():
            if not _finite(cast):
                found.not_finite.append(key)
            elif key.rpartition(".")[2] == "running_var" and bool((cast < 0).any()):
                found.kinds[key] = ("a value below zero", "a variance")
        elif not torch.equal(cast.to(value.dtype), value):
            found.kinds[key] = (f"{_kind(value)} beyond its range", _kind(own[key]))
    for key, others in aliases(own).items():
        for twin in others:
            if key < twin and key in found.weights and twin in found.weights:
                first, second = found.weights[key], found.weights[twin]
                if first.dtype != second.dtype or not torch.equal(first, second):
                    found.unequal[key] = twin


def _finite(values: torch.Tensor) -> bool:
    """A finite sum has finite parts and needs no memory; only another is looked at number by number."""
    return bool(torch.isfinite(values.sum())) or bool(torch.isfinite(values).all())


def aliases(state: Mapping[str, torch.Tensor]) -> dict[str, list[str]]:
    """Key → the other keys of the same tensor, from ``state_dict(keep_vars=True)``."""
    groups: dict[int, list[str]] = {}
    for key, value in state.items():
        groups.setdefault(id(value), []).append(key)
    return {
        key: [other for other in group if other != key]
        for group in groups.values()
        if len(group) > 1
        for key in group
    }


def _locate(tree: Any, containers: tuple[str, ...]) -> tuple[str | None, dict[Any, Any]]:
    for place in containers:
        holder = tree
        for name in place.split(".") if place else ():
            holder = _held(holder).get(name)
        held = _held(holder)
        if any(isinstance(value, torch.Tensor) for value in held.values()):
            return place, held
    return None, {}


def _held(value: Any) -> dict[Any, Any]:
    """The items of a dictionary, or of what would have been one."""
    if isinstance(value, Stub):
        return {**value.items, **value.state}
    return value if isinstance(value, dict) else {}


def _places(tree: Any, containers: tuple[str, ...]) -> str:
    """Where tensors were looked for, and where there are some instead."""
    looked = ", ".join(place or "the file itself" for place in containers)
    held = _held(tree)
    if "_modules" in held:
        return f"no state dict, but a whole module, {getattr(tree, 'name', type(tree).__name__)}: save its state_dict()"
    counts = {
        _text(name): sum(isinstance(each, torch.Tensor) for each in _held(value).values())
        for name, value in held.items()
    }
    there = [f"{name} ({count})" for name, count in counts.items() if count]
    if there:
        return f"no tensors in {looked}; there are some in {shown(there)}"
    if not held:
        return f"no state dict, but {type(tree).__name__}" + (
            f" {tree.name}" if isinstance(tree, Stub) else ""
        )
    if any(isinstance(value, torch.Tensor) for value in held.values()):
        return f"no tensors in {looked}; there are some in the file itself"
    described = [f"{_text(name)} ({type(value).__name__})" for name, value in held.items()]
    return f"no tensors in {looked}, and nowhere else: {shown(described)}"


def _text(key: Any) -> str:
    """A key as text; what is no plain value by its class alone, since a stub may hold anything."""
    if isinstance(key, (Name, Stub)):
        return key.name
    return str(key) if isinstance(key, (str, int, float)) else type(key).__name__


def _rename(found: Match, holder: dict[Any, Any], rules: Rules) -> dict[str, Any]:
    """Our names → values; what is dropped, and two names that become one, are noted."""
    names = {key: _text(key) for key in holder}
    for prefix in rules.strip:
        if names and all(name.startswith(prefix) for name in names.values()):
            names = {key: name.removeprefix(prefix) for key, name in names.items()}
    origins: dict[str, list[Any]] = {}
    for key, name in names.items():
        pattern = next((each for each in rules.drop if re.search(each, name)), None)
        if pattern is not None:
            found.dropped.setdefault(pattern, []).append(_text(key))
            continue
        for old, new in rules.rename:
            name = re.sub(old, new, name)
        origins.setdefault(name, []).append(key)
        if name != key:
            found.renamed[name] = _text(key)
    for name, keys in origins.items():
        if len(keys) > 1:
            found.collisions[name] = [_text(key) for key in keys]
            found.renamed.pop(name, None)
    return {name: holder[keys[0]] for name, keys in origins.items() if len(keys) == 1}


def _compare(key: str, value: Any, own: torch.Tensor, found: Match) -> tuple[str, str] | None:
    """The kind of the value and of ours where they differ; else it is noted as a weight or for its shape."""
    if not isinstance(value, torch.Tensor):
        name = value.name if isinstance(value, Stub) else type(value).__name__
        return f"{name}, no tensor", _kind(own)
    if (
        value.layout != torch.strided
        or value.is_quantized
        or value.device.type not in ("cpu", own.device.type)
    ):
        return "a tensor of a kind that is not read", _kind(own)
    if list(value.shape) != list(own.shape):
        found.shapes[key] = (list(value.shape), list(own.shape))
        return None
    if _family(value) != _family(own):
        return _kind(value), _kind(own)
    found.weights[key] = value.detach()
    if value.dtype != own.dtype:
        found.casts.setdefault(f"{_kind(value)} → {_kind(own)}", []).append(key)
    return None


def _kind(value: torch.Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _family(value: torch.Tensor) -> str:
    if value.is_floating_point():
        return "float"
    return "complex" if value.is_complex() else "bool" if value.dtype == torch.bool else "int"
