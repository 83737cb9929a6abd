"""`load ptbxl`: tables, one rate of signals, 12SL statements; what is wrong costs only itself."""

from __future__ import annotations

import ast
import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import wfdb
from lydus_files import snapshot, table_of, write_wfdb

from warehouse.errors import InputError, UsageError
from warehouse.home import Home
from warehouse.load import ptbxl
from warehouse.load.ptbxl_tables import parse_scp_codes

LEADS = ptbxl.LEADS
COLUMNS = (
    "ecg_id",
    "patient_id",
    "age",
    "sex",
    "report",
    "scp_codes",
    "strat_fold",
    "filename_lr",
    "filename_hr",
)
STATEMENTS = """,description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass
NORM,normal ECG,1.0,,,NORM,NORM
AFIB,atrial fibrillation,,,1.0,,
NDT,non-diagnostic T abnormalities,1.0,1.0,,STTC,STTC
"""


def signal(seed: int, hz: int) -> np.ndarray:
    return np.random.default_rng([seed, hz]).integers(-900, 900, (12, 10 * hz)).astype(np.int16)


def write_release(
    folder: Path, rows: list[dict[str, str]] | None = None, high: tuple[int, ...] = (1,)
) -> Path:
    """Three records at 100 Hz, some at 500 Hz; a row may change any cell."""
    folder.mkdir(parents=True)
    (folder / "scp_statements.csv").write_text(STATEMENTS, encoding="utf-8")
    codes = ["{'NORM': 100.0, 'SR': 0.0}", "{'AFIB': 0.0}", "{'NDT': 50}"]
    with (folder / "ptbxl_database.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in (3, 1, 2):
            low, high_name = f"records100/0/{number:05d}_lr", f"records500/0/{number:05d}_hr"
            usual = [
                number,
                f"{900 + number}.0",
                "63.0",
                "1",
                "unauffällig",
                codes[number - 1],
                number,
                low,
                high_name,
            ]
            changed = next((each for each in rows or [] if each["at"] == str(number)), {})
            writer.writerow([changed.get(name, value) for name, value in zip(COLUMNS, usual, strict=True)])
    for number in (1, 2, 3):
        write_wfdb(folder / "records100" / "0", f"{number:05d}_lr", signal(number, 100), LEADS, hz=100)
    for number in high:
        write_wfdb(folder / "records500" / "0", f"{number:05d}_hr", signal(number, 500), LEADS)
    return folder


@pytest.fixture
def release(tmp_path) -> Path:
    return write_release(tmp_path / "ptbxl")


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "data")


def table(home: Home, name: str) -> list[dict]:
    return table_of(home, name, "ptbxl")


def rejected(home: Home, source: Path, *words: str, **options) -> None:
    before = snapshot(home, "ptbxl")
    with pytest.raises(InputError) as caught:
        ptbxl.load(home, source, **options)
    for word in words:
        assert word in str(caught.value)
    assert snapshot(home, "ptbxl") == before


def test_tables(home, release):
    report = ptbxl.load(home, release)
    assert report.problems == []
    assert [each["ecg_id"] for each in table(home, "record")] == [1, 2, 3]
    assert table(home, "record")[0] == {
        "ecg_id": 1, "patient_id": "901", "strat_fold": 1, "scp_codes": "{'NORM': 100.0, 'SR': 0.0}", "age": "63.0",
        "sex": "1", "report": "unauffällig", "filename_lr": "records100/0/00001_lr",
        "filename_hr": "records500/0/00001_hr", "source_file": "ptbxl_database.csv", "row_no": 3,
    }  # fmt: skip
    assert [tuple(each.values()) for each in table(home, "scp_code")] == [
        (1, "NORM", 100.0), (1, "SR", 0.0), (2, "AFIB", 0.0), (3, "NDT", 50.0),
    ]  # fmt: skip
    assert [tuple(each.values()) for each in table(home, "scp_statement")] == [
        ("NORM", "normal ECG", True, False, False, "NORM", "NORM"),
        ("AFIB", "atrial fibrillation", False, False, True, None, None),
        ("NDT", "non-diagnostic T abnormalities", True, True, False, "STTC", "STTC"),
    ]
    assert table(home, "statement_12sl") == []
    assert [(each["what"], each["where"]) for each in report.oddities] == [
        ("SCP code that scp_statements.csv does not hold", ["SR"])
    ]


@pytest.mark.parametrize(("hz", "expected", "ids"), [(None, 100, "123"), (100, 100, "123"), (500, 500, "1")])
def test_one_rate(home, release, hz, expected, ids):
    report = ptbxl.load(home, release, hz=hz)
    rows = table(home, "signal")
    assert "".join(each["record_id"] for each in rows) == ids
    assert {(each["hz"], each["n_leads"], each["n_samples"], each["uv_per_count"]) for each in rows} == {
        (expected, 12, 10 * expected, 1.0)
    }
    for each in rows:
        assert each["samples"] == signal(int(each["record_id"]), expected).reshape(-1).tolist()
    assert [(each["record_id"], each["has_signal"]) for each in table(home, "signal_fact")] == [
        (number, number in ids) for number in sorted("123", key=lambda number: (number not in ids, number))
    ]
    assert any(f"{len(ids)} of 3 records at {expected} Hz" in note for note in report.notes)
    assert report.problems == []


def test_rates_that_tie_give_the_higher(tmp_path, home):
    ptbxl.load(home, write_release(tmp_path / "both", high=(1, 2, 3)))
    assert {each["hz"] for each in table(home, "signal")} == {500}


def test_missing_files_are_noted_and_no_problem(home, release):
    (release / "records100" / "0" / "00002_lr.hea").unlink()
    report = ptbxl.load(home, release)
    assert report.problems == []
    (odd,) = [each for each in report.oddities if each["what"] == "record without a signal file"]
    assert odd["where"] == [2]
    facts = {each["record_id"]: each for each in table(home, "signal_fact")}
    assert facts["2"] == {name: None for name in facts["2"]} | {"record_id": "2", "has_signal": False}
    assert len(table(home, "record")) == 3


def test_no_signals_at_all(home, release):
    shutil.rmtree(release / "records100")
    shutil.rmtree(release / "records500")
    report = ptbxl.load(home, release)
    assert table(home, "signal") == table(home, "signal_fact") == []
    assert any("none loaded" in note for note in report.notes)


def test_a_broken_record_costs_only_itself(home, release):
    path = release / "records100" / "0" / "00002_lr.dat"
    path.write_bytes(path.read_bytes()[:-2])
    report = ptbxl.load(home, release)
    (problem,) = report.problems
    assert str(problem).startswith("record 2, 00002_lr.dat: found 23,998 bytes; expected 24,000")
    assert [each["record_id"] for each in table(home, "signal")] == ["1", "3"]
    assert [each["ecg_id"] for each in table(home, "record")] == [1, 2, 3]
    assert {each["record_id"]: each["has_signal"] for each in table(home, "signal_fact")} == {
        "1": True,
        "3": True,
        "2": False,
    }


def test_a_record_of_other_leads_costs_only_itself(home, release):
    write_wfdb(release / "records100" / "0", "00003_lr", signal(3, 100)[::-1], LEADS[::-1], hz=100)
    report = ptbxl.load(home, release)
    assert ["record 3, 00003_lr.hea" in str(each) for each in report.problems] == [True]
    assert [each["record_id"] for each in table(home, "signal")] == ["1", "2"]


@pytest.mark.parametrize(
    ("cell", "value", "words"),
    [
        ("scp_codes", "{'NORM': 100.0", "scp_codes"),
        ("scp_codes", "['NORM']", "scp_codes"),
        ("scp_codes", "__import__('os').getcwd()", "scp_codes"),
        ("scp_codes", "{'NORM': 101}", "scp_codes"),
        ("scp_codes", "{'NORM': '100'}", "scp_codes"),
        ("scp_codes", "", "scp_codes"),
        ("strat_fold", "11", "strat_fold '11' of record 2"),
        ("strat_fold", "", "strat_fold None of record 2"),
        ("ecg_id", "two", "ecg_id 'two'"),
    ],
)
def test_a_bad_row_costs_only_itself(tmp_path, home, cell, value, words):
    report = ptbxl.load(home, write_release(tmp_path / "bad", [{"at": "2", cell: value}]))
    (problem,) = report.problems
    assert str(problem).startswith("ptbxl_database.csv, row 4: found")
    assert words in str(problem)
    assert [each["ecg_id"] for each in table(home, "record")] == [1, 3]
    assert [each["record_id"] for each in table(home, "signal")] == ["1", "3"]


def test_a_record_twice_is_rejected(tmp_path, home):
    ptbxl.load(home, write_release(tmp_path / "good"))
    rejected(
        home, write_release(tmp_path / "bad", [{"at": "2", "ecg_id": "1"}]), "row 4: found ecg_id 1 again"
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("ptbxl_database.csv", "strat_fold", "fold", "expected also strat_fold"),
        ("scp_statements.csv", "diagnostic_class", "class", "expected also diagnostic_class"),
        ("scp_statements.csv", "AFIB,", "NORM,", "row 3: found code 'NORM'"),
        ("scp_statements.csv", "NORM,normal ECG,1.0", "NORM,normal ECG,yes", "row 2: found diagnostic 'yes'"),
    ],
)
def test_tables_that_break_their_contract(home, release, file, old, new, words):
    ptbxl.load(home, release)
    path = release / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    rejected(home, release, file, words)


def test_latin_1_is_refused(home, release):
    ptbxl.load(home, release)
    path = release / "ptbxl_database.csv"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    rejected(home, release, "ptbxl_database.csv", "byte 0xe4", "not utf-8")


@pytest.mark.parametrize("name", ["ptbxl_database.csv", "scp_statements.csv"])
def test_a_table_is_missing_or_there_twice(home, release, name):
    ptbxl.load(home, release)
    shutil.copy(release / name, release / "records100" / name)
    rejected(home, release, f"records100/{name}", "expected exactly one")
    (release / "records100" / name).unlink()
    (release / name).unlink()
    rejected(home, release, "none; expected exactly one")


def test_wrong_usage(home, release, tmp_path):
    with pytest.raises(UsageError, match="found --hz 250; expected 100 or 500"):
        ptbxl.load(home, release, hz=250)
    with pytest.raises(UsageError, match="found nothing; expected the folder of PTB-XL"):
        ptbxl.load(home, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="expected PTB-XL"):
        ptbxl.load(home, release, statements=tmp_path / "nowhere.csv")


STATEMENTS_12SL = "ecg_id,statements\n2,\"['AFIB', 'STEMI;AU']\"\n1,\"['NSR']\"\n77,\"['NSR']\"\n"
NUMBERS = """\ufeffStatementNumber,Acronym,FullText,id1
22,NSR,Normal sinus rhythm,
821,STEMI,** ** ACUTE MI / STEMI ** **,
"""


def test_12sl_statements_found_below_the_folder(home, release):
    (release / "plus").mkdir()
    (release / "plus" / "12sl_statements.csv").write_text(STATEMENTS_12SL, encoding="utf-8")
    (release / "plus" / "12slv23ToSNOMED.csv").write_text(NUMBERS, encoding="utf-8")
    report = ptbxl.load(home, release)
    assert [tuple(each.values()) for each in table(home, "statement_12sl")] == [
        (1, 22, "NSR", "Normal sinus rhythm"),
        (2, None, "AFIB", None),
        (2, 821, "STEMI;AU", "** ** ACUTE MI / STEMI ** **"),
    ]
    assert any("1 rows of records that are not loaded" in note for note in report.notes)


def test_12sl_statements_given_without_the_table_of_numbers(home, release, tmp_path):
    path = tmp_path / "12sl.csv"
    path.write_text(STATEMENTS_12SL, encoding="utf-8")
    ptbxl.load(home, release, statements=path)
    assert [
        (each["ecg_id"], each["statement_no"], each["acronym"]) for each in table(home, "statement_12sl")
    ] == [
        (1, None, "NSR"),
        (2, None, "AFIB"),
        (2, None, "STEMI;AU"),
    ]


@pytest.mark.parametrize("cell", ["NSR", "{'NSR': 1}", "[1]", "['']"])
def test_bad_12sl_cells_cost_only_themselves(home, release, tmp_path, cell):
    path = tmp_path / "12sl.csv"
    path.write_text(f'ecg_id,statements\n1,"{cell}"\n2,"[]"\n3,"[\'A\']"\n3,"[\'B\']"\n', encoding="utf-8")
    report = ptbxl.load(home, release, statements=path)
    assert [problem.row for problem in report.problems] == [2, 5]
    assert [(each["ecg_id"], each["acronym"]) for each in table(home, "statement_12sl")] == [(3, "A")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'NORM': 80.0, 'SBRAD': 0.0}", {"NORM": 80.0, "SBRAD": 0.0}),
        ("{}", {}),
        ("{'NORM': True}", None),
        ("{'NORM': -1}", None),
        ("{'NORM': 1e999}", None),
        ("{'': 1}", None),
        ("{1: 1}", None),
        ("{'A': 1} | {'B': 2}", None),
        ("[" * 10_000, None),
        (None, None),
    ],
    ids=str,
)
def test_scp_codes_are_read_strictly(text, expected):
    assert parse_scp_codes(text) == expected


def test_the_real_records(shared, home):
    source = shared / "data" / "ptbxl"
    report = ptbxl.load(home, source)
    assert report.problems == []
    records = table(home, "record")
    assert len(records) == len(table(home, "signal")) == len(table(home, "signal_fact")) == 500
    with next(source.glob("ptbxl_database*.csv")).open(encoding="utf-8", newline="") as file:
        rows = {int(each["ecg_id"]): each for each in csv.DictReader(file)}
    for each in records:
        mine = rows[each["ecg_id"]]
        assert (each["patient_id"], each["strat_fold"]) == (
            mine["patient_id"].removesuffix(".0"),
            int(mine["strat_fold"]),
        )
    expected = [
        (k, code, likelihood)
        for k, each in sorted(rows.items())
        for code, likelihood in sorted(ast.literal_eval(each["scp_codes"]).items())
    ]
    assert [tuple(each.values()) for each in table(home, "scp_code")] == expected
    last = table(home, "signal")[-1]
    theirs = wfdb.rdrecord(str(source / rows[int(last["record_id"])]["filename_lr"]), physical=False).d_signal
    assert last["samples"] == theirs.T.reshape(-1).tolist()
    report = ptbxl.load(home, source, hz=500)
    assert (len(table(home, "signal")), len(table(home, "signal_fact")), report.problems) == (120, 500, [])
