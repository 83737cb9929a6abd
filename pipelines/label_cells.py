"""The labels of a submission to a multilabel task, in one of three shapes.

=====================  =============================================================================
a column per class     true or false, 1 or 0
``labels``             names joined by commas, written as the spec writes them; empty for none
``answer``             a language model's answer as it came, read by `pipelines.replies`; beside it, where
                       wanted, ``error`` (why there is no answer) and, the same in all rows, ``model``,
                       ``prompt_id`` and ``decoding`` (a JSON object of settings)
=====================  =============================================================================

Each image has one status: its labels were read (a table's always are), its answer could not be read, it has
no answer (none came, or an error), or it has no row. In all but the first it counts as having no label.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from pipelines.faults import Faults
from pipelines.kind import Rows
from pipelines.replies import PARSER, parse_answer
from pipelines.tables import Table, delimiter_hint, texts

LABELS, ANSWER, ERROR = "labels", "answer", "error"
STATUS = "answer_status"
STATUSES = PARSED, UNPARSED, UNANSWERED, MISSING = ("parsed", "unparsed", "no answer", "no row")
"""The status column of a stored run, by the number that predictions hold."""

TRUE, FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")
NO_ERROR = ("", "false", "none", "null", "0")
STATED = ("model", "prompt_id", "decoding")


def code(status: str) -> float:
    """A status as the number that predictions hold."""
    return float(STATUSES.index(status))


def label_reader(table: Table, classes: Sequence[str], faults: Faults) -> Rows | None:
    """How the rows of the table are read into labels (n, k) and a status (n, k + 1); None with a fault."""
    present = table.frame.columns
    shapes = [name for name in (LABELS, ANSWER) if name in present and name not in classes]
    named = [name for name in classes if name in present]
    if len(shapes) + bool(named) > 1:
        found = f"columns {', '.join([*shapes, *named])}"
        faults.add_file(found, f"either a column per class, or {LABELS}, or {ANSWER}", "drop the others")
        return None
    if not shapes and len(named) < len(classes):
        absent = ", ".join(name for name in classes if name not in named)
        also = "" if named else f" (nor {LABELS}, nor {ANSWER})"
        found = f"no column {absent}{also} among: {', '.join(present)}"
        faults.add_file(found, "a column for every class", delimiter_hint(present))
        return None

    if shapes == [ANSWER]:
        for name in STATED:
            values = _values(table.frame, name)
            faults.add(values if len(values) > 1 else [], f"several values of {name}", "one in all rows")

    def read(lines: np.ndarray, keys: pl.Series) -> np.ndarray:
        frame = table.frame[lines]
        if shapes == [ANSWER]:
            return _answers(frame, classes)
        status = _status(frame, keys, faults)
        labels = (
            _names(frame[LABELS], keys, classes, faults) if shapes else _flags(frame, keys, classes, faults)
        )
        odd = labels.any(axis=1) & (status != code(PARSED))
        faults.add(
            keys.filter(pl.Series(odd)), f"rows with labels although {STATUS} says none", "one of them"
        )
        return np.column_stack([labels, status])

    return read


def stated(table: Table) -> dict[str, Any] | None:
    """What a file of answers says of who answered, how they were asked and how they are read."""
    if ANSWER not in table.frame.columns:
        return None
    found = {name: next(iter(_values(table.frame, name)), None) for name in STATED}
    return {"parser": PARSER, **found, "decoding": _settings(found["decoding"])}


def _values(frame: pl.DataFrame, name: str) -> list[str]:
    if name not in frame.columns:
        return []
    return [value for value in texts(frame[name]).drop_nulls().unique(maintain_order=True).to_list() if value]


def _settings(text: str | None) -> Any:
    """Decoding settings: the JSON that they are, else the text."""
    try:
        return None if text is None else json.loads(text, parse_constant=str)
    except ValueError:
        return text


def _answers(frame: pl.DataFrame, classes: Sequence[str]) -> np.ndarray:
    answers = texts(frame[ANSWER]).to_list()
    errors = texts(frame[ERROR]).fill_null("").to_list() if ERROR in frame.columns else [""] * len(answers)
    read = np.zeros((len(answers), len(classes) + 1))
    for line, (answer, error) in enumerate(zip(answers, errors, strict=True)):
        named = parse_answer(answer or "", classes)
        if named is not None:
            read[line, :-1] = [name in named for name in classes]
        elif answer is None or (not answer and error.lower() not in NO_ERROR):
            read[line, -1] = code(UNANSWERED)
        else:
            read[line, -1] = code(UNPARSED)
    return read


def _status(frame: pl.DataFrame, keys: pl.Series, faults: Faults) -> np.ndarray:
    """The status that a stored run keeps; read everywhere in a table that has none."""
    if STATUS not in frame.columns:
        return np.zeros(frame.height)
    cells = texts(frame[STATUS])
    unknown = ~cells.is_in(STATUSES).fill_null(False)
    faults.add(
        keys.filter(unknown),
        f"rows with an unknown {STATUS}",
        f"one of: {', '.join(STATUSES)}",
        cells.filter(unknown),
    )
    codes = {status: code(status) for status in STATUSES}
    return cells.replace_strict(codes, default=0.0, return_dtype=pl.Float64).to_numpy()


def _flags(frame: pl.DataFrame, keys: pl.Series, classes: Sequence[str], faults: Faults) -> np.ndarray:
    columns = []
    for name in classes:
        cells = texts(frame[name]).str.to_lowercase().fill_null("")
        known = cells.is_in([*TRUE, *FALSE])
        faults.add(
            keys.filter(~known),
            f"rows with neither true nor false in {name}",
            "true or false, or 1 or 0",
            frame[name].filter(~known),
        )
        columns.append(cells.is_in(TRUE).to_numpy())
    return np.stack(columns, axis=1).astype(np.float64)


def _names(cells: pl.Series, keys: pl.Series, classes: Sequence[str], faults: Faults) -> np.ndarray:
    labels = np.zeros((len(cells), len(classes)))
    place = {name: j for j, name in enumerate(classes)}
    unknown, stray = [], []
    for line, (key, names) in enumerate(zip(keys.to_list(), _lists(cells), strict=True)):
        labels[line, [place[name] for name in names if name in place]] = 1
        unknown += [f"{key} ({name!r})" for name in names if name and name not in place]
        stray += [key] if "" in names else []
    expected = f"names joined by commas, of: {', '.join(classes)}"
    faults.add(unknown, f"names in {LABELS} that are no class", expected)
    faults.add(stray, f"rows with a stray comma in {LABELS}", expected)
    return labels


def _lists(cells: pl.Series) -> list[list[str]]:
    """Each cell's names; an empty cell has none."""
    if cells.dtype in (pl.List(pl.String), pl.List(pl.Null)):
        return [[str(name).strip() for name in names or ()] for names in cells.to_list()]
    if cells.dtype.is_nested() or cells.dtype == pl.Binary:
        return [[str(value)] for value in cells.to_list()]
    joined = texts(cells).fill_null("").to_list()
    return [[name.strip() for name in text.split(",")] if text else [] for text in joined]
