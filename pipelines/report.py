"""One page that shows a task as it stands: rule, counts, examples, scores, and what they rest on.

The page is one file without scripts and without anything to fetch. Every number on it is the answer of a query
that stands beside it, or is read from a run record.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.made_up import made_up
from pipelines.pages import environment
from warehouse.errors import UsageError
from warehouse.home import Home, write_text, writing

if TYPE_CHECKING:
    import duckdb

    from pipelines.answers import Answer
    from warehouse.spec import Spec


PAGES = {"vitaldb": "report.html", "lydus": "images.html"}
"""Schema of a task's views → the template of its page."""


def write_report(home: Home, task: str, out_file: Path, *, part: str = "test") -> Path:
    """Write the page of TASK to ``out_file`` and return it; scores are those of ``part``.

    UsageError for an unknown task or one of a data set that has no page yet, HomeError where the task is not
    built or the file cannot be written.
    """
    page = render(gather(home, task, part))
    with writing(out_file.parent):
        out_file.parent.mkdir(parents=True, exist_ok=True)
        write_text(out_file, page)
    return out_file


def gather(home: Home, task: str, part: str) -> dict[str, Any]:
    """Everything that the page says, by the names that its template uses; ``template`` is the template's."""
    from pipelines import image_page
    from pipelines.results import read_results
    from warehouse.cite import cite
    from warehouse.load.report import read_report
    from warehouse.query import connect
    from warehouse.spec import find_spec
    from warehouse.task import read_task
    from warehouse.views import Catalog

    spec = find_spec(task)
    built = read_task(home, spec.name)
    catalog = Catalog.read()
    lineage = catalog.lineage([spec.view])
    schema = next((view.schema for view in lineage if view.schema in PAGES), None)
    if schema is None:
        raise UsageError(
            f"found a task on {spec.data['dataset']}; expected one on a data set with evidence views"
        )
    con = connect(home, catalog=catalog)
    report = read_report(home, spec.data["dataset"])
    page = {
        "template": PAGES[schema],
        "spec": spec,
        "part": part,
        "synthetic": made_up(home, report),
        "loaded": report,
        "stale": built.stale,
        "views": lineage,
        "views_by_name": catalog,
        "results": read_results(home, spec, part),
        "cite": cite(home, spec.name),
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if PAGES[schema] == "images.html":
        page |= image_page.gather(con, home, built, part)
    else:
        page |= _segments(con, spec)
    con.close()
    return page


def _segments(con: duckdb.DuckDBPyConnection, spec: Spec) -> dict[str, Any]:
    """What the page of a task of segments says besides."""
    from pipelines import questions
    from pipelines.answers import ask
    from pipelines.strips import choose, read_strips

    names = {"view": spec.view, "target": f'"{spec.classes[0]}"'}

    def answer(question: str) -> Answer:
        return ask(con, question.format(**names))

    choice, chosen = choose(con, spec.view)
    return {
        "target": spec.classes[0],
        "street": answer(questions.STREET),
        "parts": answer(questions.PARTS),
        "left_out": answer(questions.LEFT_OUT),
        "attrition": answer(questions.ATTRITION),
        "rhythms": answer(questions.RHYTHMS),
        "roles": answer(questions.ROLES),
        "reasons": answer(questions.REASONS),
        "early": answer(questions.EARLY),
        "clock": answer(questions.CLOCK),
        "choice": choice,
        "strips": read_strips(con, chosen),
    }


def render(page: dict[str, Any]) -> str:
    """The page as HTML; whatever comes out of data or the registry is escaped."""
    from pipelines.results import maker

    made = environment()
    made.globals["maker"] = maker
    return made.get_template(page["template"]).render(page)
