"""What no task may leak, as checks that must return nothing: which check applies to which task, and where it stands.

===================  =====================================  ======================================================
check                applies to                             what it finds
===================  =====================================  ======================================================
``in_two_parts``     every task                             a group with instances in more than one part
``outside_sample``   every task                             an instance outside the part, or the sample of the part,
                                                            that the split gives its group, record or beat
``not_opaque``       specs with ``instance_id.digits``      an id that tells the record, or that two records share
``gives_away``       specs with ``input.render``            an image named after more than its instance's id, or of
                                                            an instance that is not used
``drawn_by_class``   specs with ``input.render``            a render parameter or a file size that differs by class
``forbidden``        specs with ``input.never``             a column in the task view or in the table of its images
                                                            that the spec keeps from images
===================  =====================================  ======================================================

All but the last are audit views, ``task.<slug>_<check>_v<N>`` (in_two_parts after the word for the group:
``task.<slug>_patient_in_two_parts_v<N>``), with cases in which each finds a planted fault. The last is a SELECT on
the catalog of a built home (:func:`forbidden_columns`): a view that reads an engine's catalog would be neither
portable nor sharded, and what is forbidden stands in the spec, in one place. ``audit`` runs it beside the views.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warehouse.database import sql_text
from warehouse.images import SCHEMA
from warehouse.spec import Spec
from warehouse.views import Catalog

IN_TWO_PARTS = "in_two_parts"
FORBIDDEN = "forbidden"
CHECKS = (IN_TWO_PARTS, "outside_sample", "not_opaque", "gives_away", "drawn_by_class", FORBIDDEN)


def checks_of(spec: Spec) -> tuple[str, ...]:
    """The checks that apply to a task, in the order of CHECKS."""
    given: Mapping[str, Any] = spec.data.get("input", {})
    applies = {
        "not_opaque": "digits" in (spec.data.get("instance_id") or {}),
        "gives_away": "render" in given,
        "drawn_by_class": "render" in given,
        FORBIDDEN: bool(given.get("never")),
    }
    return tuple(check for check in CHECKS if applies.get(check, True))


def audits_of(catalog: Catalog, spec: Spec) -> dict[str, str | None]:
    """Check → the audit view that holds it for a task, None where there is none; ``forbidden`` has no view."""
    stem = spec.view.removeprefix("task.").removesuffix(f"_v{spec.version}")
    found: dict[str, str | None] = {}
    for check in checks_of(spec):
        if check == FORBIDDEN:
            continue
        names = [
            view.name
            for view in catalog.values()
            if view.layer == "audit"
            and view.version == spec.version
            and _is_check(view.alias, stem, check)
            and spec.view in view.reads
        ]
        found[check] = names[0] if names else None
    return found


def forbidden_columns(spec: Spec) -> str:
    """A SELECT of ``(table, column)`` on a home's connection: what the spec keeps from images and is there.

    In the task view the record's id is allowed (it is the contract's key); in the table of images no key, no part
    and no class is either.
    """
    never = sorted(name.replace(" ", "_") for name in spec.data.get("input", {}).get("never", ()))
    keys = ("record_id", "group_id", "part", "fold", "scored", "left_out", *spec.classes)
    stem = spec.view.removeprefix("task.")
    in_view, in_images = [name for name in never if name != "record_id"], [*never, *keys]
    return f"""
        SELECT table_schema || '.' || table_name AS "table", column_name AS "column"
        FROM information_schema.columns
        WHERE table_name = {sql_text(stem)}
            AND (
                (table_schema = 'task' AND lower(column_name) IN ({_listed(in_view)}))
                OR (table_schema = {sql_text(SCHEMA)} AND lower(column_name) IN ({_listed(in_images)}))
            )
        ORDER BY ALL
    """


def _is_check(alias: str, stem: str, check: str) -> bool:
    """``task.<stem>_<check>``; of in_two_parts ``task.<stem>_<group>_in_two_parts``."""
    tail = alias.removeprefix(f"task.{stem}_")
    if tail == alias:
        return False
    return tail == check if check != IN_TWO_PARTS else tail.endswith(f"_{check}") and tail.count("_") == 3


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(sql_text(name.lower()) for name in names) or "NULL"
