"""The tables of PTB-XL and PTB-XL+: records with their SCP codes, what the codes mean, 12SL statements."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from warehouse.errors import InputError, Problem
from warehouse.load.columns import from_bools, from_known, from_numbers, from_texts, repeated
from warehouse.load.report import LoadReport
from warehouse.load.tables_in import TextTable, read_table

TEXTS = ("patient_id", "scp_codes", "age", "sex", "report", "filename_lr", "filename_hr")
REQUIRED = ("ecg_id", "patient_id", "scp_codes", "strat_fold", "filename_lr", "filename_hr")
FOLDS = range(1, 11)
STATEMENT_12SL = pa.schema(
    [("ecg_id", pa.int32()), ("statement_no", pa.int32()), ("acronym", pa.string()), ("text", pa.string())]
)


def one_file(source: Path, pattern: str) -> Path:
    """The only file below ``source`` with such a name. Raises InputError for none or several."""
    found = sorted(source.rglob(pattern))
    if len(found) != 1:
        names = ", ".join(str(path.relative_to(source)) for path in found) or "none"
        raise InputError(
            f"{source}: not loaded",
            [Problem(str(source), f"{pattern}: {names}", "exactly one, at any depth")],
            "pass the folder of one copy of PTB-XL",
        )
    return found[0]


def read_database(path: Path, report: LoadReport) -> tuple[pa.Table, pa.Table, pa.Table]:
    """``record``, ``recording`` and ``scp_code``, in the order of ecg_id. Rows that cannot be read are problems of the
    report."""
    file = _read(path, REQUIRED, report)
    columns = file.table.to_pydict()
    rows, codes, seen, doubled = [], [], {}, []
    for place in range(file.table.num_rows):
        row = {name: values[place] for name, values in columns.items()}
        number = place + 2
        ecg_id, fold = _whole(row["ecg_id"]), _whole(row["strat_fold"])
        if ecg_id is None or ecg_id < 1:
            report.problems.append(Problem(path.name, f"ecg_id {row['ecg_id']!r}", "a whole number", number))
            continue
        if ecg_id in seen:
            doubled.append(Problem(path.name, f"ecg_id {ecg_id} again", f"once (row {seen[ecg_id]})", number))
        seen.setdefault(ecg_id, number)
        if fold not in FOLDS:
            report.problems.append(
                Problem(path.name, f"strat_fold {row['strat_fold']!r} of record {ecg_id}", "1 to 10", number)
            )
            continue
        scp = parse_scp_codes(row["scp_codes"])
        if scp is None:
            report.problems.append(
                Problem(
                    path.name,
                    f"scp_codes {(row['scp_codes'] or '')[:60]!r} of record {ecg_id}",
                    "a Python dict of codes with likelihoods from 0 to 100",
                    number,
                )
            )
            continue
        rows.append((ecg_id, fold, number, row))
        codes += [(ecg_id, code, likelihood) for code, likelihood in scp.items()]
    if doubled:
        raise InputError(f"{path.name}: records twice, nothing loaded", doubled, "copy the table again")
    if not rows:
        raise InputError(
            f"{path.name}: nothing loaded", report.problems or [Problem(path.name, "no rows", "records", 2)]
        )
    rows.sort(key=lambda each: each[0])
    codes.sort(key=lambda each: each[:2])
    texts = {name: [each[3].get(name) for each in rows] for name in TEXTS}
    texts["patient_id"] = [_tidy(value) for value in texts["patient_id"]]
    record = {
        "ecg_id": _int32([each[0] for each in rows]),
        "patient_id": from_texts(texts["patient_id"]),
        "strat_fold": _int32([each[1] for each in rows]),
        **{name: from_texts(texts[name]) for name in TEXTS[1:]},
        "source_file": repeated(path.name, len(rows)),
        "row_no": _int32([each[2] for each in rows]),
    }
    recording = {
        "ecg_id": record["ecg_id"],
        "device": from_texts([" ".join((each[3].get("device") or "").split()) for each in rows]),
        "site": from_texts([_tidy(each[3].get("site")) for each in rows]),
    }
    scp_code = pa.table(
        {
            "ecg_id": _int32([each[0] for each in codes]),
            "code": from_texts([each[1] for each in codes]),
            "likelihood": from_numbers(np.array([each[2] for each in codes], np.float64)),
        }
    )
    return pa.table(record), pa.table(recording), scp_code


def parse_scp_codes(text: str | None) -> dict[str, float] | None:
    """The dict that the cell spells, None when it is anything else."""
    try:
        value = ast.literal_eval(text or "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    for code, likelihood in value.items():
        number = isinstance(likelihood, int | float) and not isinstance(likelihood, bool)
        if not (
            isinstance(code, str) and code and number and math.isfinite(likelihood) and 0 <= likelihood <= 100
        ):
            return None
    return {code: float(likelihood) for code, likelihood in value.items()}


def read_scp_statements(path: Path, report: LoadReport) -> pa.Table:
    """``scp_statement``: a row a code; its column of codes has no name in the file."""
    kinds = ("diagnostic", "form", "rhythm")
    file = _read(path, ("description", *kinds, "diagnostic_class", "diagnostic_subclass"), report)
    columns = file.table.to_pydict()
    codes = next(iter(columns.values()))
    problems = []
    for place, code in enumerate(codes):
        if code is None or codes.index(code) != place:
            problems.append(Problem(path.name, f"code {code!r}", "each code once", place + 2))
        for kind in kinds:
            if columns[kind][place] is not None and _whole(columns[kind][place]) not in (0, 1):
                problems.append(
                    Problem(path.name, f"{kind} {columns[kind][place]!r}", "1, 0 or empty", place + 2)
                )
    if problems or not codes:
        raise InputError(
            f"{path.name}: rejected, nothing loaded",
            problems or [Problem(path.name, "no rows", "a row a code", 2)],
            "copy the table again",
        )
    flags = {kind: from_bools(np.array([_whole(value) == 1 for value in columns[kind]])) for kind in kinds}
    texts = ("diagnostic_class", "diagnostic_subclass")
    return pa.table(
        {
            "code": from_texts(codes),
            "description": from_texts(columns["description"]),
            **flags,
            **{name: from_texts(columns[name]) for name in texts},
        }
    )


def read_statements_12sl(source: Path, given: Path | None, ids: list[int], report: LoadReport) -> pa.Table:
    """``statement_12sl``: a row an acronym of a record; number and text where PTB-XL+'s table of them is beside."""
    path = given or next(iter(sorted(source.rglob("12sl_statements*.csv"))), None)
    if path is None:
        report.notes.append("12SL statements: none given; what rests on them is not checked (--statements)")
        return _statements_12sl([])
    file = _read(path, ("ecg_id", "statements"), report)
    places = [*path.parent.rglob("12slv23ToSNOMED*.csv"), *source.rglob("12slv23ToSNOMED*.csv")]
    table = _statement_table(places[0], report) if places else {}
    if not places:
        report.notes.append("12SL statements: no 12slv23ToSNOMED.csv beside them; numbers and texts are NULL")
    known, rows, elsewhere, seen = set(ids), [], 0, set()
    columns = file.table.to_pydict()
    for number, (record, cell) in enumerate(
        zip(columns["ecg_id"], columns["statements"], strict=True), start=2
    ):
        ecg_id, acronyms = _whole(record), _acronyms(cell)
        if ecg_id is None or acronyms is None or ecg_id in seen:
            found = f"record {record!r}" + (
                " again" if ecg_id in seen else f", statements {(cell or '')[:60]!r}"
            )
            report.problems.append(
                Problem(path.name, found, "an ecg_id once, and a list of acronyms", number)
            )
        elif ecg_id in known:
            rows += [
                (ecg_id, *table.get(each.split(";")[0].strip(), (None, None)), each) for each in acronyms
            ]
        else:
            elsewhere += 1
        seen.add(ecg_id)
    report.notes.append(
        f"12SL statements: {path.name}, {len(rows):,} statements"
        + (f"; {elsewhere:,} rows of records that are not loaded" if elsewhere else "")
    )
    rows.sort(key=lambda each: each[0])
    return _statements_12sl(rows)


def _statements_12sl(rows: list[tuple]) -> pa.Table:
    """From (ecg_id, number, text, acronym)."""
    known_no = np.array([each[1] is not None for each in rows], bool)
    return pa.table(
        [
            _int32([each[0] for each in rows]),
            from_known(np.array([each[1] or 0 for each in rows], np.int32), known_no),
            from_texts([each[3] for each in rows]),
            from_texts([each[2] for each in rows]),
        ],
        schema=STATEMENT_12SL,
    )


def _acronyms(cell: str | None) -> list[str] | None:
    try:
        value = ast.literal_eval(cell or "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    good = isinstance(value, list) and all(isinstance(each, str) and each for each in value)
    return value if good else None


def _statement_table(path: Path, report: LoadReport) -> dict[str, tuple[int, str]]:
    columns = _read(path, ("StatementNumber", "Acronym", "FullText"), report).table.to_pydict()
    found: dict[str, tuple[int, str]] = {}
    for number, acronym, text in zip(
        columns["StatementNumber"], columns["Acronym"], columns["FullText"], strict=True
    ):
        if acronym is not None and _whole(number) is not None:
            found.setdefault(acronym, (_whole(number), text))
    return found


def _read(path: Path, required: tuple[str, ...], report: LoadReport) -> TextTable:
    file = read_table(path, encoding="utf-8-sig")
    report.sources.append(file.as_source())
    missing = [name for name in required if name not in file.table.column_names]
    if missing:
        raise InputError(
            f"{path.name}: rejected, nothing loaded",
            [
                Problem(
                    path.name,
                    f"columns {', '.join(file.table.column_names[:12])}",
                    f"also {', '.join(missing)}",
                    1,
                )
            ],
            "copy the table as it was published",
        )
    return file


def _whole(text: str | None) -> int | None:
    """A whole number, also one that pandas wrote as ``15709.0``."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _tidy(text: str | None) -> str | None:
    number = _whole(text)
    return text if number is None else str(number)


def _int32(values: list[int]) -> pa.Array:
    return from_numbers(np.array(values, np.int32))
