"""Examples of a task as a person would look at them: chosen blindly, drawn with the evidence marked, and why in words.

For every class the used instance whose id has the smallest sha256 (segments of a long recording: for every label,
reason and rhythm, see `pipelines.strips`). Where no signal is loaded, what is annotated is drawn alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.answers import Answer
from pipelines.book import questions
from pipelines.book.beats import draw_beat
from pipelines.book.twelve import sheets
from pipelines.strips import choose, read_strips
from warehouse.database import sql_text
from warehouse.spec import Spec

if TYPE_CHECKING:
    from pipelines.book.site import Site


@dataclass(frozen=True)
class Example:
    """``row`` is the line of the choice at ``place``; ``drawing`` is what the template of ``kind`` draws, None or a
    reason in words where there is no picture. ``why`` are lines of the why view at their places in its answer."""

    kind: str
    instance_id: str
    title: str
    place: int
    row: dict[str, Any]
    classes: tuple[str, ...]
    drawing: Any
    why: tuple[int, ...]


@dataclass(frozen=True)
class Examples:
    """``choice`` says how they were chosen, ``why`` is the evidence of all of them, None without a why view."""

    choice: Answer
    why: Answer | None
    shown: tuple[Example, ...]


def read_examples(site: Site, spec: Spec) -> Examples:
    """The examples of a built task."""
    columns = {name for name, *_ in site.con.execute(f"DESCRIBE {spec.view}").fetchall()}
    if {"start_s", "duration_s"} <= columns:
        choice, rows = choose(site.con, spec.view)
        kind, found = (
            "strip",
            [(row, strip) for row, strip in zip(rows, read_strips(site.con, rows), strict=True)],
        )
    else:
        kind = "beat" if {"sample", "end_sample", "channel"} <= columns else "twelve"
        signal = f"raw_{site.schema_of(spec)}.signal"
        choice = site.ask(questions.choice_query(spec, signal if signal in site.readable else None))
        found = _beats(site, spec, choice) if kind == "beat" else _twelve(site, spec, choice)
    why = _why(site, spec, [row["instance_id"] for row, _ in found])
    shown: dict[str, Example] = {}
    for row, drawing in found:
        name = row["instance_id"]
        if name in shown:
            continue
        shown[name] = Example(
            kind=kind,
            instance_id=name,
            title=row["class"] if "class" in row else row["label"] or "no label",
            place=choice.rows.index(row),
            row=row,
            classes=_classes(site, spec, name),
            drawing=drawing,
            why=tuple(n for n, line in enumerate(why or ()) if line["instance_id"] == name),
        )
    return Examples(choice, why, tuple(shown.values()))


def _classes(site: Site, spec: Spec, instance: str) -> tuple[str, ...]:
    """What an instance has of the task's classes."""
    columns = ", ".join(f'"{name}"' for name in spec.classes)
    query = f"SELECT {columns} FROM {spec.view} WHERE instance_id = {sql_text(instance)}"
    (values,) = site.con.execute(query).fetchall()
    return tuple(name for name, value in zip(spec.classes, values, strict=True) if value)


def _why(site: Site, spec: Spec, instances: list[str]) -> Answer | None:
    view = site.why_view(spec)
    if view is None or not instances:
        return None
    listed = ", ".join(map(sql_text, dict.fromkeys(instances)))
    return site.ask(questions.WHY.format(why=view, instances=listed))


def _twelve(site: Site, spec: Spec, choice: Answer) -> list[tuple[dict, Any]]:
    records = dict(_columns(site, spec, choice, ("record_id",)))
    drawn = sheets(site.home, spec, [str(row["record_id"]) for row in records.values()])
    return [(row, drawn.get(str(records[row["instance_id"]]["record_id"]))) for row in choice]


def _beats(site: Site, spec: Spec, choice: Answer) -> list[tuple[dict, Any]]:
    needed = ("record_id", "channel", "sample", "end_sample")
    places = dict(_columns(site, spec, choice, needed))
    schema = site.schema_of(spec)
    found = []
    for row in choice:
        place = places[row["instance_id"]]
        whole = all(place[name] is not None for name in needed)
        found.append((row, draw_beat(site, schema, place) if whole and row["has_signal"] else None))
    return found


def _columns(site: Site, spec: Spec, choice: Answer, names: tuple[str, ...]) -> list[tuple[str, dict]]:
    """Instance → columns of the task view."""
    if not len(choice):
        return []
    listed = ", ".join(sql_text(row["instance_id"]) for row in choice)
    query = f"SELECT instance_id, {', '.join(names)} FROM {spec.view} WHERE instance_id IN ({listed})"
    return [
        (name, dict(zip(names, values, strict=True))) for name, *values in site.con.execute(query).fetchall()
    ]
