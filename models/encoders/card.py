"""What ``registry/encoders/`` declares of an encoder: its class, its checkpoint and what may be in it. No torch."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOTS = ("LEADHOUSE_CHECKPOINTS", "ECG_CKPT_ROOT")
"""Variables that name the folder of checkpoints, ours and then the benchmark's."""


class EncoderError(Exception):
    """An encoder that cannot be made, fed or loaded; the message says what was found and expected."""


@dataclass(frozen=True)
class Rules:
    """How the keys of a published checkpoint become those of the encoder.

    ``containers``: paths of keys (``a.b``; the empty one is the file itself) that are tried in order for the state
    dict. ``strip``: prefixes that are taken off when *every* key has them. Then ``drop`` (patterns of keys that are
    known and not ours), ``rename`` (pattern, replacement; each is tried in order, all that match apply), and
    ``may_lack`` (patterns of our keys that the file may lack). Patterns are searched with ``re.search``.
    """

    containers: tuple[str, ...] = ("",)
    strip: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    rename: tuple[tuple[str, str], ...] = ()
    may_lack: tuple[str, ...] = ()


@dataclass(frozen=True)
class Card:
    """One encoder of the registry. ``file`` is its checkpoint's path below the root, None where it needs none."""

    name: str
    title: str
    entry: str
    path: Path
    options: dict[str, Any] = field(default_factory=dict)
    file: str | None = None
    url: str | None = None
    rules: Rules = Rules()
    parameters: int | None = None
    licence: str = ""
    citation: str = ""
    pretrained_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def checkpoint(self) -> Path | None:
        """Where the checkpoint lies under the first root that has it, None without a root, a file name or the file."""
        return next((path for path in self.looked_for() if path.exists()), None)

    def looked_for(self) -> list[Path]:
        """Where the checkpoint would lie under each root that the environment names."""
        roots = [root for variable in ROOTS if (root := os.environ.get(variable))]
        return [Path(root).expanduser() / self.file for root in roots] if self.file else []


def folder() -> Path:
    """``registry/encoders`` of the checkout, or its copy inside an installed wheel."""
    root = Path(__file__).resolve().parents[2]
    installed = root / "warehouse" / "_project"
    return (installed if installed.is_dir() else root) / "registry" / "encoders"


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.json"))


def card(name: str) -> Card:
    """EncoderError for a name without a card, or a card that does not say what it must."""
    path = folder() / f"{name}.json"
    if name not in names():
        raise EncoderError(f"found no encoder {name!r}; expected one of: {', '.join(names())}")
    try:
        declared = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise EncoderError(f"{path}: no JSON ({error})") from error
    return _parse(name, path, declared)


_FIELDS = {
    "title",
    "class",
    "options",
    "checkpoint",
    "parameters",
    "licence",
    "citation",
    "pretrained_on",
    "notes",
}
_CHECKPOINT = {"file", "url", "containers", "strip", "drop", "rename", "may_lack"}


def _parse(name: str, path: Path, declared: Any) -> Card:
    def known(given: Any, fields: set[str], where: str) -> dict[str, Any]:
        if not isinstance(given, dict) or (odd := sorted(set(given) - fields)):
            found = f"the fields {', '.join(odd)}" if isinstance(given, dict) else type(given).__name__
            raise EncoderError(f"{path}: found {found} in {where}; expected: {', '.join(sorted(fields))}")
        return given

    declared = known(declared, _FIELDS, "the card")
    given = known(declared.get("checkpoint") or {}, _CHECKPOINT, "checkpoint")
    _hold_types(path, declared, _KINDS)
    _hold_types(path, given, _CHECKPOINT_KINDS)
    if not declared.get("title") or ":" not in declared.get("class", ""):
        raise EncoderError(f"{path}: expected a title, and a class as <module>:<class>")
    rules = Rules(
        containers=tuple(given.get("containers", [""])),
        strip=tuple(given.get("strip", [])),
        drop=tuple(given.get("drop", [])),
        rename=tuple((pattern, to) for pattern, to in given.get("rename", [])),
        may_lack=tuple(given.get("may_lack", [])),
    )
    for pattern, to in (*((each, "") for each in (*rules.drop, *rules.may_lack)), *rules.rename):
        try:
            re.compile(pattern).sub(to, "")
        except (re.error, IndexError) as error:
            raise EncoderError(
                f"{path}: found the pattern {pattern!r} with {to!r}, no regular expression ({error})"
            ) from error
    return Card(
        name=name,
        title=declared["title"],
        entry=declared["class"],
        path=path,
        options=declared.get("options", {}),
        file=given.get("file"),
        url=given.get("url"),
        rules=rules,
        parameters=declared.get("parameters"),
        licence=declared.get("licence", ""),
        citation=declared.get("citation", ""),
        pretrained_on=tuple(declared.get("pretrained_on", [])),
        notes=tuple(declared.get("notes", [])),
    )


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(_is_texts(each) and len(each) == 2 for each in value)


_TEXT = ("a text", lambda value: isinstance(value, str))
_TEXTS = ("a list of texts", _is_texts)
_KINDS = {
    **dict.fromkeys(("title", "class", "licence", "citation"), _TEXT),
    **dict.fromkeys(("pretrained_on", "notes"), _TEXTS),
    "options": ("an object", lambda value: isinstance(value, dict)),
    "parameters": ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
}
_CHECKPOINT_KINDS = {
    **dict.fromkeys(("file", "url"), _TEXT),
    **dict.fromkeys(("containers", "strip", "drop", "may_lack"), _TEXTS),
    "rename": ("a list of pairs [pattern, replacement]", _is_pairs),
}
_FIELDS = {*_KINDS, "checkpoint"}
_CHECKPOINT = set(_CHECKPOINT_KINDS)


def _hold_types(path: Path, given: dict[str, Any], kinds: dict[str, Any]) -> None:
    """A text in place of a list would be read letter by letter."""
    for name, value in given.items():
        if name in kinds and not kinds[name][1](value):
            raise EncoderError(f"{path}: {name}: found {value!r}; expected {kinds[name][0]}")
