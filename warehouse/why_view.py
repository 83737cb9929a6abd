"""The why view of a task: a row per piece of evidence of every instance, with its raw lines and a sentence.

``task.<slug with _>_why_v<N>`` stands beside the task's view. What its columns mean stands in CONTRIBUTING.md.
"""

from __future__ import annotations

from warehouse.spec import Spec

CONTRACT: dict[str, str | None] = {
    "instance_id": "VARCHAR",
    "evidence": "VARCHAR",
    "record_id": None,
    "class": "VARCHAR",
    "kind": "VARCHAR",
    "rule": "VARCHAR",
    "value": "VARCHAR",
    "accepted": "BOOLEAN",
    "reason": "VARCHAR",
    "view": "VARCHAR",
    "source": "VARCHAR",
    "source_no": "BIGINT",
    "source_file": "VARCHAR",
    "first_row": "INTEGER",
    "last_row": "INTEGER",
    "said": "VARCHAR",
    "map_row": "VARCHAR",
    "words": "VARCHAR",
}
"""The columns that every why view has first, in this order, with DuckDB's types; None: as in the task's view."""

KINDS = ("candidate", "exclusion", "left_out")
"""A candidate could give its class, an exclusion takes it, what is left out keeps the instance out of its part."""

ANY = "any"
"""The class of an exclusion that takes every class."""


def why_view(spec: Spec) -> str:
    """The name of a task's why view."""
    return f"task.{spec.slug.replace('-', '_')}_why_v{spec.version}"
