"""What the page of an image task says besides what every page says: classes, what was refused, the images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipelines import image_questions as questions
from pipelines.answers import Answer, ask
from pipelines.contact_sheet import contact_sheet
from warehouse.home import Home
from warehouse.images import SCHEMA
from warehouse.task import TaskData

if TYPE_CHECKING:
    import duckdb


def gather(con: duckdb.DuckDBPyConnection, home: Home, task: TaskData, part: str) -> dict[str, Any]:
    """Answers by the names that ``images.html`` uses; ``sheet`` is None where no image of the part is rendered."""
    names = {"view": task.spec.view, "image": f"{SCHEMA}.{task.spec.view.removeprefix('task.')}"}

    def answer(question: str) -> Answer:
        return ask(con, question.format(**names))

    sheet = contact_sheet(home, task, part)
    return {
        "street": answer(questions.STREET),
        "classes": answer(questions.CLASSES),
        "attrition": answer(questions.ATTRITION),
        "hedged": answer(questions.HEDGED),
        "unmapped": answer(questions.UNMAPPED),
        "drawn": None if sheet is None else answer(questions.DRAWN),
        "sheet": sheet,
    }
