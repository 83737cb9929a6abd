"""What a language model is asked for a task's images: declared in ``registry/prompts/``, worded in a template.

A prompt's id stands for its exact text (a test pins the digest): another wording is another id, in a file
beside it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path

if TYPE_CHECKING:
    from warehouse.spec import Spec

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Prompt:
    """A prompt's text, and the decoding settings that go with it."""

    id: str
    text: str
    decoding: Mapping[str, Any]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """What a run record keeps of it."""
        return {"prompt_id": self.id, "prompt_sha256": self.sha256, "decoding": dict(self.decoding)}


def find_prompt(spec: Spec) -> Prompt | None:
    """The task's newest prompt, None where it has none. RegistryError when its classes are not the task's."""
    found = [declared for declared in _declared() if spec.name in declared["tasks"]]
    return _render(spec, found[-1]) if found else None


def prompt(spec: Spec) -> Prompt:
    """The same for a task that must have one: UsageError where it has none."""
    found = find_prompt(spec)
    if found is None:
        raise UsageError(f"{spec.name}: found no prompt; expected one of registry/prompts/ to name the task")
    return found


def _declared() -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(registry_path("prompts").glob("*.json"))]


def _render(spec: Spec, declared: Mapping[str, Any]) -> Prompt:
    import jinja2

    meanings = declared["classes"]
    if meanings.keys() != set(spec.classes):
        odd = ", ".join(sorted(meanings.keys() ^ set(spec.classes)))
        raise RegistryError(f"prompt {declared['id']}: found other classes than those of {spec.name}: {odd}")
    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, autoescape=False
    )
    text = engine.get_template(declared["template"]).render(classes={n: meanings[n] for n in spec.classes})
    return Prompt(declared["id"], text, declared["decoding"])
