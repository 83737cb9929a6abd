"""The README.md of a bundle, for whoever has never heard of this project; the text is `templates/bundle.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from warehouse.spec import Spec
    from warehouse.views import View

TEMPLATES = Path(__file__).parents[1] / "templates"

COLUMNS = {
    "instance_id": "the instance, unique",
    "record_id": "the record or case in the data set's release",
    "group_id": "the unit that must not span parts (a patient, where one is known)",
    "part": "train, validation or test; empty where the group is in no part",
    "fold": "a fold, where the data set has folds",
    "scored": "whether the instance has a label",
    "left_out": "why it is not used in its part; empty where it is",
    "start_s": "where it begins in the record, seconds",
    "duration_s": "how long it is, seconds",
}
"""What the columns of every task mean; the others are told in the header of the task's view."""


def render_readme(
    *,
    spec: Spec,
    card: Mapping[str, Any],
    citation: Mapping[str, Any],
    counts: Mapping[str, Any],
    entry: Mapping[str, Any],
    lineage: list[View],
    members: list[str],
    kinds: Mapping[str, str],
    withheld: str | None,
    unchecked: Mapping[str, int],
    synthetic: bool,
) -> str:
    """The text, ended by a line feed; a function of its arguments alone.

    ``entry``: the task view's, of the manifest. ``lineage``: the views behind the task, parents first.
    """
    import jinja2

    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters |= {"cell": _cell, "prose": _prose}
    task = next(view for view in lineage if view.name == spec.view)
    definitions = spec.data["label"].get("classes")
    folders = sorted({name.split("/")[0] for name in members if "/" in name})
    text = engine.get_template("bundle.md").render(
        spec=spec,
        card=card,
        citation=citation,
        counts=counts,
        entry=entry,
        columns=[(name, kind, _meaning(name, spec)) for name, kind in entry["columns"].items()],
        task=task,
        labels=[view for view in lineage if view.layer == "label"],
        views=lineage,
        files=[(name, kinds[name]) for name in sorted(members) if "/" not in name and name in kinds]
        + [(f"{name}/", kinds[name]) for name in folders],
        definitions=definitions if isinstance(definitions, Mapping) else {},
        withheld=withheld,
        unchecked=unchecked,
        synthetic=synthetic,
    )
    return text.strip() + "\n"


def _meaning(name: str, spec: Spec) -> str:
    return "a class; empty = unknown" if name in spec.classes else COLUMNS.get(name, "see the view's header")


def _cell(value: object) -> str:
    """Text in a cell of a table: one line, no bar."""
    return re.sub(r"\s+", " ", str(value)).replace("|", "\\|")


def _prose(text: str) -> str:
    """The prose of a view's header as paragraphs."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(re.sub(r"\s+", " ", paragraph).strip() for paragraph in paragraphs)
