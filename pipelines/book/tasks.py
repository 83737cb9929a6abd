"""What the page of a task says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines.answers import Answer
from pipelines.book import graph, questions
from pipelines.book.examples import read_examples
from pipelines.book.prose import options, read_prose
from pipelines.book.versions import parts_query
from pipelines.charts import stacked
from pipelines.made_up import made_up
from pipelines.pages import gist
from warehouse.caveats import caveats
from warehouse.cite import cite
from warehouse.maps import map_rows
from warehouse.review.agreement import VIEW as VERDICTS
from warehouse.spec import Spec
from warehouse.task import older_than

if TYPE_CHECKING:
    from pipelines.book.site import Site


def gather(site: Site, spec: Spec) -> dict[str, Any]:
    """By the names that ``book/task.html`` uses; ``counted`` is None where the task is not built in this home."""
    view = site.catalog[spec.view]
    lineage = site.catalog.lineage([spec.view])
    built = site.is_built(spec)
    return {
        "spec": spec,
        "task": spec.data,
        "view": view,
        "lineage": lineage,
        "labels": [each for each in lineage if each.layer == "label"],
        "prose": read_prose(spec),
        "meaning": _meanings_of_classes(site, spec),
        "caveats": [] if not built else caveats(site.home, spec),
        "synthetic": made_up(site.home, site.reports.get(spec.data["dataset"])),
        "stale": older_than(site.home, spec.view),
        "cite": cite(site.home, spec.name, site.catalog),
        "split": options(spec.data["split"]),
        "picture": picture(site, spec),
        "counted": _counted(site, spec) if built else None,
        "board": _board(site, spec) if built else None,
        "readers": _readers(site, spec) if built else None,
        "siblings": [each for each in site.specs if each.slug == spec.slug and each != spec],
        "moved": _moved(site, spec) if built else [],
    }


def _counted(site: Site, spec: Spec) -> dict[str, Any]:
    names = {"view": spec.view, "why": site.why_view(spec)}
    parts = site.ask(questions.PARTS.format(**names))
    kinds = ("scored", "unlabelled", "left_out")
    return {
        "total": site.ask(questions.TOTAL.format(**names)),
        "parts": parts,
        "bars": stacked([(row["part"], {kind: row[kind] for kind in kinds}) for row in parts]),
        "classes": site.ask(questions.classes_query(spec)),
        "left_out": site.ask(questions.LEFT_OUT.format(**names)),
        "accepted": site.ask(questions.ACCEPTED.format(**names)) if names["why"] else None,
        "refused": site.ask(questions.REFUSED.format(**names)) if names["why"] else None,
        "attrition": _attrition(site, spec),
        "meanings": _reasons(site, spec),
        "examples": read_examples(site, spec),
    }


def _attrition(site: Site, spec: Spec) -> Answer | None:
    """The data set's own view of what its rules leave out, where it has one: it counts the records of its task."""
    schema = site.schema_of(spec)
    name, reasons = f"{schema}.attrition_v0", f"map.{schema}_reason"
    tasks = [each for each in site.specs if site.schema_of(each) == schema]
    if name not in site.readable or reasons not in site.readable or len(tasks) != 1:
        return None
    grain = ", ".join(f"attrition.{column}" for column in site.catalog[name].grain)
    return site.ask(f"""
    SELECT
        attrition.*
        , reason.meaning
    FROM {name} AS attrition
    LEFT JOIN {reasons} AS reason ON attrition.reason = reason.reason
    ORDER BY reason.rank, {grain}
    """)


def _reasons(site: Site, spec: Spec) -> dict[str, str]:
    """What reasons mean, from the data set's maps."""
    schema = site.schema_of(spec)
    found: dict[str, str] = {}
    for name in site.maps:
        rows = map_rows(name) if name.startswith(f"{schema}_") else ()
        if rows and {"reason", "meaning"} <= rows[0].keys():
            found |= {row["reason"]: row["meaning"] for row in rows}
    return found


def _meanings_of_classes(site: Site, spec: Spec) -> dict[str, str]:
    """What the spec says of each class: words, or the codes and symbols that give it with their notes in the maps."""
    label = spec.data["label"]
    notes = _notes(site.schema_of(spec), site.maps)
    found = {}
    for name in spec.classes:
        places = (label.get("classes", label), label.get("codes", {}), label.get("superclasses", {}))
        value = next((place[name] for place in places if name in place), None)
        if isinstance(value, list):
            texts = map(str, value)
            found[name] = ", ".join(f"{text} ({notes[text]})" if text in notes else text for text in texts)
        elif isinstance(value, str):
            found[name] = value
    return found


def _notes(schema: str, maps: list[str]) -> dict[str, str]:
    """First column → first clause of the note, of the data set's maps that have notes."""
    found: dict[str, str] = {}
    for name in maps:
        rows = map_rows(name) if name.startswith(f"{schema}_") else ()
        if rows and "note" in rows[0]:
            found |= {next(iter(row.values())): gist(row["note"]) for row in rows if row["note"]}
    return found


def _readers(site: Site, spec: Spec) -> Answer | None:
    """Readers' agreement with the label; None where nobody has reviewed the task."""
    if VERDICTS not in site.readable:
        return None
    answer = site.ask(questions.agreement_query(spec, VERDICTS))
    return answer if len(answer) else None


def _moved(site: Site, spec: Spec) -> list[tuple[Spec, Answer]]:
    """Other built versions of the task with the parts that its instances have in both."""
    others = [each for each in site.specs if each.slug == spec.slug and each != spec and site.is_built(each)]
    pairs = [(other, sorted((spec, other), key=lambda each: each.version)) for other in others]
    return [(other, site.ask(parts_query(*pair))) for other, pair in pairs]


def _board(site: Site, spec: Spec) -> dict[str, Any] | None:
    """The leaderboard with its numbers as a query on the run records; None where nothing was scored."""
    from pipelines import runs
    from pipelines.leaderboard import leaderboard

    if not runs.run_names(site.home):
        return None
    lines = leaderboard(site.home, spec.name)
    query = questions.leaderboard_query(lines)
    if not lines:
        return None
    return {
        "lines": lines,
        "numbers": site.ask(query) if query else None,
        "whole": [line for line in lines if line["broken"] is None],
        "broken": [line for line in lines if line["broken"] is not None],
    }


def picture(site: Site, spec: Spec) -> graph.Picture:
    """Everything that the task view rests on."""
    lineage = site.catalog.lineage([spec.view])
    parents = {view.name: view.reads for view in lineage}
    names = set(parents).union(*parents.values())
    return graph.draw(parents, {name: name for name in names})
