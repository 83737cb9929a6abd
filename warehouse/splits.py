"""Splits drawn with a seeded generator: declared in ``registry/splits/``, written as a table by ``load``.

A view cannot draw numbers, so membership is a table; the declaration holds the algorithm, the sizes and the
digest of the membership, and a draw that gives another digest is refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.errors import RegistryError, UsageError
from warehouse.load.report import read_report
from warehouse.project import registry_path

if TYPE_CHECKING:
    import numpy as np

    from warehouse.home import Home
    from warehouse.spec import Spec


@dataclass(frozen=True)
class Split:
    """A membership: ``units`` (n,) int64 ascending and ``parts`` (n,) of part names, with its declaration."""

    name: str
    units: np.ndarray
    parts: np.ndarray
    declaration: dict

    @property
    def sha256(self) -> str:
        return membership_digest(self.units, self.parts)


def membership_digest(units: np.ndarray, parts: np.ndarray) -> str:
    """sha256 of the lines ``unit,part``."""
    lines = "".join(f"{unit},{part}\n" for unit, part in zip(units.tolist(), parts.tolist(), strict=True))
    return hashlib.sha256(lines.encode()).hexdigest()


def declaration(name: str) -> dict:
    """The JSON of ``registry/splits/<name>.json``. Raises UsageError when there is none."""
    path = registry_path("splits", f"{name}.json")
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.json")))
        raise UsageError(f"found no split {name!r}; expected one of: {known}")
    return json.loads(path.read_text(encoding="utf-8"))


def split_digest(name: str) -> str:
    """What `release` locks of a split: its membership where the registry fixes it, else the declaration itself."""
    return declared_digest(declaration(name))


def declared_digest(declared: dict) -> str:
    """The same of a declaration that was read elsewhere."""
    text = json.dumps(declared, sort_keys=True)
    return declared.get("sha256") or hashlib.sha256(text.encode()).hexdigest()


def split_origin(home: Home, spec: Spec) -> str | None:
    """Where a task's split is from, in words; None for a spec that names no split.

    The declaration says so, or, where a release can bring its own split, what was loaded.
    """
    name = spec.data["split"].get("name")
    if name is None:
        return None
    declared = declaration(name).get("origin")
    if declared is not None:
        return declared
    report = read_report(home, spec.data["dataset"])
    return report and report["release"].get("split")


def split_note(home: Home, spec: Spec) -> str | None:
    """The same as a sentence for whoever reads the numbers."""
    origin = split_origin(home, spec)
    return None if origin is None else f"split {spec.data['split']['name']}: {origin}"


def draw(name: str, declared: dict | None = None) -> Split:
    """Draw a declared split and hold it against its locked digest; ``declared`` in the place of the registry's.

    Raises RegistryError when sizes or digest differ: another numpy stream, or an edited declaration.
    """
    import numpy as np

    declared = declared or declaration(name)
    units = np.arange(declared["units"]["first"], declared["units"]["last"] + 1)
    sizes = declared["parts"]
    if sum(sizes.values()) != len(units):
        raise RegistryError(
            f"split {name}: found parts that sum to {sum(sizes.values())}, expected {len(units)} units"
        )
    shuffled = np.random.default_rng(declared["seed"]).permutation(units)
    parts = np.empty(len(units), dtype=object)
    parts[shuffled - units[0]] = np.repeat(list(sizes), list(sizes.values()))
    split = Split(name, units, parts, declared)
    if split.sha256 != declared["sha256"]:
        raise RegistryError(
            f"split {name}: the draw gives membership {split.sha256[:12]}…, expected the locked "
            f"{declared['sha256'][:12]}…",
            "the declaration was edited, or this numpy draws other numbers: restore one of them",
        )
    return split
