"""docs/questions.md: every query runs as it is printed, in every tool that it is for, and gives what it says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from warehouse.home import Home
from warehouse.query import connect, select
from warehouse.task import read_task

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
VITAL, LYDUS = "vitaldb-arrhythmia-abnormal@0", "lydus-ecg-image@0"


@dataclass(frozen=True)
class Question:
    number: int
    title: str
    language: str
    text: str
    columns: tuple[str, ...]


def questions() -> list[Question]:
    found = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        number, title = re.match(r"(\d+)\. (.+)", section).groups()
        ((language, text),) = re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
        (columns,) = re.findall(r"^Gives: ([^.]+)\. [A-Z]", section, re.MULTILINE)
        names = tuple(name.strip() for name in columns.replace("\n", " ").split(","))
        found.append(Question(int(number), title, language, text, names))
    return found


QUESTIONS = questions()


def write_ptbxl(folder: Path, records: int = 80) -> Path:
    """The two tables of a PTB-XL of made-up records, without signals."""
    folder.mkdir(parents=True)
    (folder / "scp_statements.csv").write_text(
        ",description,diagnostic,form,rhythm,diagnostic_class,diagnostic_subclass\n"
        "NORM,normal ECG,1.0,,,NORM,NORM\nLVH,left ventricular hypertrophy,1.0,,,HYP,LVH\n"
        "AFIB,atrial fibrillation,,,1.0,,\nCLBBB,complete left bundle branch block,1.0,,,CD,CLBBB\n",
        encoding="utf-8",
    )
    kinds = ("{'NORM': 100.0}", "{'LVH': 80.0, 'AFIB': 0.0}", "{'CLBBB': 50.0}", "{'AFIB': 0.0}")
    lines = ["ecg_id,patient_id,age,sex,device,site,scp_codes,strat_fold,filename_lr,filename_hr"]
    for number in range(1, records + 1):
        lines.append(
            f'{number},{1000 + number // 2}.0,{20 + number % 70}.0,{number % 2},CS-12   E,0.0,"{kinds[number % 4]}",'
            f"{1 + number // 2 % 10},records100/0/{number:05d}_lr,records500/0/{number:05d}_hr"
        )
    (folder / "ptbxl_database.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """Four synthetic releases in one home."""
    from warehouse.load import lydus, mitbih, ptbxl, vitaldb_arrhythmia
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_lydus_release, write_mitbih_release, write_vitaldb_release

    place = tmp_path_factory.mktemp("questions")
    write_vitaldb_release(place / "vitaldb", seconds=180, signals=False)
    write_lydus_release(place / "lydus", records=300, signals=False, typos=0.02)
    write_mitbih_release(place / "mitbih")
    home = Home(place / "data")
    vitaldb_arrhythmia.load(home, place / "vitaldb")
    lydus.load(home, place / "lydus")
    ptbxl.load(home, write_ptbxl(place / "ptbxl"))
    mitbih.load(home, place / "mitbih", workers=1)
    materialize(home)
    return home


@pytest.fixture(scope="module")
def con(home: Home) -> duckdb.DuckDBPyConnection:
    """What `sql` opens, once for all questions."""
    return connect(home)


def asked(home: Home, con, question: Question, monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """The answer as dicts; SQL is asked of what `sql` opens and of the database file, Python runs beside `data`."""
    if question.language == "sql":
        found = con.execute(question.text)
        columns = [column[0] for column in found.description]
        rows = found.fetchall()
        with duckdb.connect(str(home.database), read_only=True) as file:
            assert file.execute(question.text).fetchall() == rows
    else:
        assert home.path.name == "data"
        monkeypatch.chdir(home.path.parent)
        names: dict = {}
        exec(compile(question.text, str(PAGE), "exec"), names)
        answer = names["answer"]
        columns = list(answer.columns)
        rows = answer.rows() if question.text.startswith("import polars") else answer.to_numpy().tolist()
    assert tuple(columns) == question.columns
    assert rows
    return [dict(zip(columns, row, strict=True)) for row in rows]


def one(con: duckdb.DuckDBPyConnection, query: str):
    return con.execute(query).fetchall()[0][0]


def segments_and_patients(home: Home, con, rows: list[dict]) -> None:
    task = read_task(home, VITAL)
    used = task.instances.filter(task.instances["left_out"].is_null())
    assert sum(row["segments"] for row in rows) == task.instances.height
    assert (
        sum(row["segments"] for row in rows if row["label"] in ("normal", "abnormal")) == used["scored"].sum()
    )
    assert all(0 < row["patients"] <= row["segments"] for row in rows if row["part"])


def reasons(home: Home, con, rows: list[dict]) -> None:
    unlabelled = Counter(
        reason
        for (reason,) in con.execute(
            "SELECT reason FROM vitaldb.segment_label WHERE label IS NULL"
        ).fetchall()
    )
    assert {row["reason"]: row["decided"] for row in rows if row["decided"]} == dict(unlabelled)
    assert all(row["segments"] >= row["decided"] for row in rows)


def rhythms(home: Home, con, rows: list[dict]) -> None:
    listed = con.execute("SELECT rhythms FROM task.vitaldb_arrhythmia_abnormal WHERE abnormal").fetchall()
    expected = Counter(name for (text,) in listed for name in text.split("|"))
    assert {row["rhythm"]: row["segments"] for row in rows} == dict(expected)


def burden(home: Home, con, rows: list[dict]) -> None:
    task = read_task(home, VITAL).instances.filter("scored")
    assert sum(row["minutes"] for row in rows) == pytest.approx(task["duration_s"].sum() / 60)
    shares = [row["abnormal_share"] for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert len(rows) == task["record_id"].n_unique()


def wordings(home: Home, con, rows: list[dict]) -> None:
    assert len(rows) <= 20
    labelled = one(con, "SELECT count(*) FROM lydus.record_class WHERE class = 'Old MI'")
    assert 0 < max(row["records"] for row in rows) <= labelled


def refused(home: Home, con, rows: list[dict]) -> None:
    assert all(row["reason"] and 0 <= row["without"] <= row["records"] for row in rows)
    assert sum(row["without"] for row in rows) > 0


def together(home: Home, con, rows: list[dict]) -> None:
    task = read_task(home, LYDUS)
    targets = task.targets[task.instances["left_out"].is_null().to_numpy()]
    assert [[row[name] for name in task.classes] for row in rows] == (targets.T @ targets).tolist()


def frequencies(home: Home, con, rows: list[dict]) -> None:
    for name in ("lydus", "ptbxl"):
        records = one(con, f"SELECT count(*) FROM {name}.record_label")
        listed = con.execute(f"SELECT class, count(*) FROM {name}.record_class GROUP BY class").fetchall()
        told = {row["class"]: row[f"{name}_percent"] for row in rows if row[f"{name}_percent"] is not None}
        assert told == pytest.approx({klass: 100 * count / records for klass, count in listed}, abs=0.051)


def confident(home: Home, con, rows: list[dict]) -> None:
    found = {row["class"]: (row["records"], row["at_80"], row["at_100"]) for row in rows}
    assert found == {"AFIB/AFL": (40, 0, 0), "CD": (20, 0, 0), "HYP": (20, 20, 0), "NORM": (20, 20, 20)}


def known_patients(home: Home, con, rows: list[dict]) -> None:
    by = {row["split"]: row for row in rows}
    assert by["by patient"]["of_known_patients"] == 0 < by["by patient"]["test_beats"]
    assert 0 < by["by beat"]["of_known_patients"] <= by["by beat"]["test_beats"]
    tested = one(
        con, "SELECT count(*) FROM task.ecg_heartbeat_arrhythmia_v0 WHERE part = 'test' AND left_out IS NULL"
    )
    assert by["by beat"]["test_beats"] == tested


CHECKS: dict[int, Callable[[Home, duckdb.DuckDBPyConnection, list[dict]], None]] = {
    1: segments_and_patients,
    2: reasons,
    3: rhythms,
    4: burden,
    5: wordings,
    6: refused,
    7: together,
    8: frequencies,
    9: confident,
    10: known_patients,
}


def test_there_are_ten_of_several_data_sets():
    assert [question.number for question in QUESTIONS] == list(range(1, 11)) == list(CHECKS)
    text = " ".join(question.text for question in QUESTIONS)
    assert all(f"{schema}." in text for schema in ("vitaldb", "lydus", "ptbxl"))
    assert {question.language for question in QUESTIONS} == {"sql", "python"}
    assert "docs/questions.md" in (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.number))
def test_the_answer_is_what_the_page_says(home, con, question, monkeypatch):
    CHECKS[question.number](home, con, asked(home, con, question, monkeypatch))


def test_the_shell_commands_of_the_page_are_selects(home):
    command = r'^(?:python cli\.py sql|duckdb -readonly data/leadhouse\.duckdb) "([^"]+)"'
    first, second = re.findall(command, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert first == second
    assert select(home, first).fetchall()
