"""Task specs: what is declared of a task, its digest, and the house's rules for such a file.

``registry/tasks/<slug>@<version>.json`` holds ours, in our own words. A published spec and ours are compared
parameter by parameter (tests); ``follows`` names the published digest.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path

UNSIGNED = frozenset({"title", "preview", "visibility"})
"""Keys that say how a spec is shown, not what it means: the digest leaves them out."""


@dataclass(frozen=True)
class Spec:
    """A task spec. ``data`` is the JSON as read."""

    slug: str
    version: int
    data: Mapping[str, Any]
    path: Path

    @property
    def name(self) -> str:
        return f"{self.slug}@{self.version}"

    @property
    def view(self) -> str:
        """The task's view, ``task.<slug with _>_v<N>``."""
        return f"task.{self.slug.replace('-', '_')}_v{self.version}"

    @property
    def digest(self) -> str:
        return spec_digest(self.data)

    @property
    def published_digest(self) -> str | None:
        """The published spec that this one follows, or None."""
        return self.data.get("follows", {}).get("digest")

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(self.data["classes"])


def spec_digest(data: Mapping[str, Any]) -> str:
    """The first 12 hex digits of sha256 over the JSON, keys sorted, separators ``,`` and ``:``."""
    signed = {key: value for key, value in data.items() if key not in UNSIGNED}
    text = json.dumps(signed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_spec(path: Path) -> Spec:
    """Read one spec file. Raises RegistryError when it is no spec."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Spec(str(data["slug"]), int(data["version"]), data, path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegistryError(
            f"{path}: found {type(error).__name__}: {error}; expected a JSON task spec with slug and version"
        ) from error


def specs() -> list[Spec]:
    """All specs of the registry, by slug and version."""
    found = [read_spec(path) for path in registry_path("tasks").glob("*@*.json")]
    return sorted(found, key=lambda spec: (spec.slug, spec.version))


def find_spec(task: str) -> Spec:
    """The spec of TASK: ``slug@version``, or a bare slug for the newest. Raises UsageError with the list."""
    slug, _, version = task.partition("@")
    known = specs()
    fitting = [spec for spec in known if spec.slug == slug and (not version or str(spec.version) == version)]
    if not fitting:
        names = ", ".join(spec.name for spec in known)
        raise UsageError(f"found no task {task!r}; expected one of: {names}", "write TASK as slug@version")
    return fitting[-1]


_REQUIRED = (
    "slug",
    "version",
    "kind",
    "dataset",
    "classes",
    "label",
    "metrics",
    "split",
    "deviations",
    "protocol",
)
_KINDS = ("binary", "multilabel", "multiclass", "regression")


def lint(spec: Spec) -> list[str]:
    """What a spec file breaks, in words; an empty list is a good spec.

    The rules are those that the published specs keep: the file's name says slug and version, every parameter
    that a metric or a split needs is there, the primary metric is one metric, and every part of the protocol
    that is ours carries a deviation that says how it was checked.
    """
    data, faults = spec.data, []
    if spec.path.name != f"{spec.name}.json":
        faults.append(f"file name: found {spec.path.name}, expected {spec.name}.json")
    faults += [f"{key}: missing" for key in _REQUIRED if key not in data]
    if faults:
        return faults
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", spec.slug):
        faults.append(f"slug: found {spec.slug!r}, expected lower-case words joined by -")
    if data["kind"] not in _KINDS:
        faults.append(f"kind: found {data['kind']!r}, expected one of {', '.join(_KINDS)}")
    metrics = data["metrics"]
    if not isinstance(metrics.get("primary"), str):
        faults.append("metrics.primary: expected one metric's name")
    if metrics.get("primary") in metrics.get("secondary", ()):
        faults.append("metrics.secondary: names the primary metric again")
    if "bootstrap" in metrics and not {"by", "n"} <= set(metrics["bootstrap"]):
        faults.append("metrics.bootstrap: expected by and n")
    split = data["split"]
    if "fractions" in split and abs(sum(split["fractions"]) - 1) > 1e-12:
        faults.append(f"split.fractions: found a sum of {sum(split['fractions'])}, expected 1")
    if "fractions" in split and "seed" not in split:
        faults.append("split.seed: missing beside split.fractions")
    for number, deviation in enumerate(data["deviations"]):
        if not isinstance(deviation, dict) or not {"part", "text", "checked"} <= set(deviation):
            faults.append(f"deviations[{number}]: expected part, text and checked")
            continue
        if not str(deviation["checked"]).strip():
            faults.append(f"deviations[{number}].checked: empty; say how it was checked")
    covered = {deviation.get("part") for deviation in data["deviations"] if isinstance(deviation, dict)}
    for part, source in data["protocol"].get("parts", {}).items():
        if source == "ours" and part not in covered:
            faults.append(f"protocol.parts.{part}: ours, but no deviation says how it was checked")
    return faults
