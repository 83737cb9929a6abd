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
        """Where the checkpoint lies under the named root, None without a root, a file name or the file itself."""
        for variable in ROOTS:
            if self.file and (root := os.environ.get(variable)):
                path = Path(root) / self.file
                return path if path.is_file() else None
        return None


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
    if not path.is_file():
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
    if not declared.get("title") or ":" not in str(declared.get("class")):
        raise EncoderError(f"{path}: expected a title, and a class as <module>:<class>")
    given = known(declared.get("checkpoint") or {}, _CHECKPOINT, "checkpoint")
    rules = Rules(
        containers=tuple(given.get("containers", [""])),
        strip=tuple(given.get("strip", [])),
        drop=tuple(given.get("drop", [])),
        rename=tuple((pattern, to) for pattern, to in given.get("rename", [])),
        may_lack=tuple(given.get("may_lack", [])),
    )
    for pattern in (*rules.drop, *rules.may_lack, *(each for each, _ in rules.rename)):
        try:
            re.compile(pattern)
        except re.error as error:
            raise EncoderError(
                f"{path}: found the pattern {pattern!r}, no regular expression ({error})"
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
