"""Readers' verdicts: kept whole or not at all, never changing a label, counted against today's labels."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import cli
from warehouse import materialize as materialize_stage
from warehouse.audit import audit
from warehouse.counts import count
from warehouse.errors import HomeError, InputError, UsageError
from warehouse.home import Home
from warehouse.load.lydus import load
from warehouse.query import connect, select
from warehouse.review import store
from warehouse.review.agreement import agreement, cohen_kappa, verdicts
from warehouse.review.verdicts import add, import_csv
from warehouse.task import read_task

TASK = "lydus-ecg-image@0"
VITAL = "vitaldb-arrhythmia-abnormal@0"


@pytest.fixture
def home(lydus_home: Home, tmp_path: Path) -> Home:
    """A copy of the synthetic LYDUS home, to be written to."""
    shutil.copytree(lydus_home.path, tmp_path / "data", symlinks=True)
    return Home(tmp_path / "data")


@pytest.fixture
def labels(home: Home) -> list[tuple[str, bool]]:
    """Instances and their first class's label, those with it first."""
    task = read_task(home, TASK)
    ids = task.instances["instance_id"].to_list()
    found = [(name, bool(row[0])) for name, row in zip(ids, task.targets, strict=True)]
    return sorted(found, key=lambda item: (not item[1], item[0]))


def klass() -> str:
    from warehouse.spec import find_spec

    return find_spec(TASK).classes[0]


def written(place: Path, rows: list[str], head: str = "instance_id,class,agree,reader,date,reason") -> Path:
    path = place / "verdicts.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def run(*args, data: Home):
    return CliRunner().invoke(cli.main, [*map(str, args), "--data", str(data.path)])


def test_a_verdict_is_stored_with_what_was_seen(home, labels):
    name, label = labels[0]
    added = add(home, TASK, name, klass(), False, "ann", "no wave", "2026-03-01")
    assert (added.stored, added.total) == (1, 1)
    rows = select(home, "SELECT * FROM raw_review.verdict").fetchall()
    assert len(rows) == 1
    assert rows[0][:7] == (1, TASK, name, klass(), False, "ann", "no wave")
    assert rows[0][8:10] == (label, read_task(home, TASK).fingerprint)
    assert select(home, "SELECT reader_says, accepted FROM review.verdict").fetchall() == [(not label, True)]
    assert select(home, "SELECT verdicts, agreed FROM review.reader").fetchall() == [(1, 0)]


def test_no_label_and_no_count_changes(home, labels):
    before, files = count(home, TASK), {path: path.read_bytes() for path in home.built.rglob("*.parquet")}
    assert "agreement" not in before.as_json()
    add(home, TASK, labels[0][0], klass(), False, "ann", day="2026-03-01")
    after = count(home, TASK)
    assert after.rows == before.rows
    assert {path: path.read_bytes() for path in home.built.rglob("*.parquet")} == files
    assert materialize_stage.check(home, None) == []
    assert [row["reader"] for row in after.as_json()["agreement"]] == ["ann"]
    assert "ann" in after.as_text()


def test_a_change_of_mind_keeps_both_and_the_later_date_counts(home, labels):
    name, label = labels[0]
    add(home, TASK, name, klass(), True, "ann", day="2026-03-02")
    add(home, TASK, name, klass(), False, "ann", day="2026-03-01")  # told later, given earlier
    states = [(row[4], row[9]) for row in verdicts(home, TASK)]
    assert states == [("agrees", "counts"), ("disagrees", "replaced")]
    add(home, TASK, name, klass(), False, "ann", day="2026-03-02T09:00")
    assert [row[9] for row in verdicts(home, TASK)] == ["replaced", "replaced", "counts"]
    (found,) = agreement(home, TASK)
    assert (found.n, found.label_only if label else found.reader_only) == (1, 1)


def test_the_same_verdict_twice_is_refused(home, labels):
    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-02")
    for day in ("2026-03-02", "2026-03-03"):
        with pytest.raises(InputError, match="stored already"):
            add(home, TASK, labels[0][0], klass(), True, "ann", day=day)
    with pytest.raises(InputError, match="a change of mind needs a later date"):
        add(home, TASK, labels[0][0], klass(), False, "ann", day="2026-03-02")
    assert len(verdicts(home, TASK)) == 1


def test_an_import_is_stored_once(home, labels, tmp_path):
    rows = [f"{name},{klass()},yes,ann,2026-03-01," for name, _ in labels[:5]]
    path = written(tmp_path, [*rows, rows[0]])
    assert import_csv(home, path, TASK).as_json() == {"stored": 5, "known": 1, "verdicts": 5}
    assert import_csv(home, path, TASK).as_json() == {"stored": 0, "known": 6, "verdicts": 5}
    more = written(tmp_path, [*rows, f'{labels[5][0]},{klass()},no,bob,2026-03-01,"too early, by far"'])
    assert import_csv(home, more, TASK).as_json() == {"stored": 1, "known": 5, "verdicts": 6}
    last = select(home, "SELECT reason, source_file, row_no FROM raw_review.verdict WHERE reader = 'bob'")
    assert last.fetchall() == [("too early, by far", "verdicts.csv", 7)]


def test_other_names_of_columns_and_a_task_column(home, labels, tmp_path):
    row = f"{labels[0][0]},{TASK},{klass()},FALSE,ann,2026-03-01T10:00:00+02:00"
    import_csv(home, written(tmp_path, [row], "instance,task,class,agree,reviewer,date"))
    (found,) = verdicts(home, TASK)
    assert (found[3], found[4], found[5]) == ("ann", "disagrees", "2026-03-01 08:00:00")


def test_every_wrong_row_is_named_and_nothing_is_stored(home, labels, tmp_path):
    good = f"{labels[0][0]},{klass()},yes,ann,2026-03-01,"
    bad = [
        f"{labels[0][0][:-1]},{klass()},yes,ann,2026-03-01,",
        f"{labels[0][0]},Hiccup,yes,ann,2026-03-01,",
        f"{labels[0][0]},{klass()},perhaps,ann,2026-03-01,",
        f"{labels[0][0]},{klass()},yes,,2026-03-01,",
        f"{labels[0][0]},{klass()},yes,ann,1 March,",
        f"{labels[0][0]},{klass()},yes,ann,2999-01-01,",
        f"{labels[0][0]},{klass()},no,ann,2026-03-01,",
    ]
    with pytest.raises(InputError) as caught:
        import_csv(home, written(tmp_path, [good, *bad]), TASK)
    problems = caught.value.problems
    assert [problem.row for problem in problems] == [3, 4, 5, 6, 7, 8, 9]
    assert labels[0][0] in problems[0].expected  # the nearest id
    assert "against row 2" in problems[6].found
    assert not (home.raw / "review").exists()
    result = run("review", "import", tmp_path / "verdicts.csv", TASK, data=home)
    assert result.exit_code == 1
    assert "row 9" in result.stderr


@pytest.mark.parametrize(
    "head", ["instance_id,class,agree,date", "instance_id,class,reader,date,agree,agree"]
)
def test_a_table_without_a_column_is_refused(home, tmp_path, head):
    with pytest.raises(InputError):
        import_csv(home, written(tmp_path, [], head), TASK)
    with pytest.raises(InputError, match="no rows"):
        import_csv(home, written(tmp_path, []), TASK)


def test_usage_is_two(home, labels, tmp_path):
    for args in (
        ("review", "add", "no-such-task", "x", "y", "--agree", "--reader", "ann"),
        ("review", "import", tmp_path / "nothing.csv", TASK),
        ("review", "list", "no-such-task"),
        ("review", "add", TASK, "x", "y", "--reader", "ann"),
        ("review", "add", TASK, labels[0][0], klass(), "--agree", "--disagree", "--reader", "ann"),
        ("review", "add", TASK, labels[0][0], "Hiccup", "--agree", "--reader", "ann"),
    ):
        assert run(*args, data=home).exit_code == 2, args
    result = run("review", "add", TASK, labels[0][0][:-1], klass(), "--agree", "--reader", "ann", data=home)
    assert (result.exit_code, labels[0][0] in result.stderr) == (2, True)
    assert (
        run("review", "add", TASK, labels[0][0], klass(), "--agree", "--reader", "", data=home).exit_code == 1
    )


def test_an_instance_without_a_label_cannot_be_agreed_with(synthetic_home, tmp_path):
    shutil.copytree(synthetic_home.path, tmp_path / "data", symlinks=True)
    home = Home(tmp_path / "data")
    unknown = select(
        home, "SELECT instance_id FROM task.vitaldb_arrhythmia_abnormal WHERE NOT scored LIMIT 1"
    )
    with pytest.raises(InputError, match="is unknown"):
        add(home, VITAL, unknown.fetchall()[0][0], "abnormal", True, "ann", day="2026-03-01")


def test_the_command_line_tells_it_all(home, labels):
    args = (
        "review",
        "add",
        TASK,
        labels[0][0],
        klass(),
        "--disagree",
        "--reader",
        "ann",
        "--date",
        "2026-03-01",
    )
    assert json.loads(run(*args, "--json", data=home).stdout) == {"stored": 1, "known": 0, "verdicts": 1}
    (row,) = json.loads(run("review", "list", TASK, "--json", data=home).stdout)
    assert (row["verdict"], row["label_seen"], row["state"]) == ("disagrees", True, "counts")
    before = CliRunner().invoke(cli.main, ["review", "--data", str(home.path), "list", TASK])
    assert labels[0][0] in before.stdout
    told = json.loads(run("counts", TASK, "--json", data=home).stdout)["agreement"]
    assert told == [each.as_json() for each in agreement(home, TASK)]


def test_a_label_that_changed_since_is_marked(home, labels):
    """The stored label is turned over, as a rule of another version would have left it."""
    name, label = labels[0]
    add(home, TASK, name, klass(), True, "ann", day="2026-03-01")
    add(home, TASK, labels[1][0], klass(), True, "ann", day="2026-03-01")
    path = next((home.raw / "review" / "verdict").glob("*.parquet"))
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT * REPLACE (NOT label_seen AS label_seen) FROM '{path}'")
    shutil.rmtree((home.raw / "review").resolve())
    (home.raw / "review").unlink()
    found = con.execute("SELECT * FROM t")
    names = [column[0] for column in found.description]
    store.append(home, [dict(zip(names, row, strict=True)) for row in found.fetchall()])
    add(home, TASK, labels[1][0], klass(), True, "ann", day="2026-03-02")
    states = [row[9] for row in verdicts(home, TASK)]
    assert states == ["counts, label changed", "counts"]
    (row,) = agreement(home, TASK)
    assert row.changed == 1
    # she agreed with the label that she saw, the opposite of today's
    assert (row.both, row.label_only if label else row.reader_only) == (1, 1)


def test_verdicts_survive_loads_and_builds(home, labels, tmp_path):
    from warehouse.synthetic import write_lydus_release

    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-01")
    write_lydus_release(tmp_path / "other", records=60, signals=0, seed=5)
    load(home, tmp_path / "other")
    materialize_stage.materialize(home)
    (row,) = verdicts(home, TASK)
    assert row[1] == labels[0][0]
    assert row[9] in ("counts", "counts, no label", "counts, label changed")


def test_verdicts_without_a_build_have_no_label(home, labels):
    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-01")
    shutil.rmtree(home.built.resolve())
    (home.path / "built").unlink()
    assert [row[9] for row in verdicts(home, TASK)] == ["counts, no label"]
    (row,) = agreement(home, TASK)
    assert (row.n, row.kappa, row.lost) == (0, None, 1)


def test_files_that_were_changed_are_no_verdicts(home, labels):
    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-01")
    assert {finding.name: finding.count for finding in audit(home)}["verdict files"] == 0
    path = next((home.raw / "review" / "verdict").glob("*.parquet"))
    whole = path.read_bytes()
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT * REPLACE (NOT agree AS agree) FROM '{path}'")
    con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    for act in (
        lambda: agreement(home, TASK),
        lambda: add(home, TASK, labels[1][0], klass(), True, "ann", day="2026-03-01"),
    ):
        with pytest.raises(HomeError, match="other files than `review` wrote"):
            act()
    assert {finding.name: finding.count for finding in audit(home)}["verdict files"] == 1
    path.write_bytes(whole[:-1])
    with pytest.raises(HomeError, match="bring the file back from a copy"):
        select(home, "SELECT * FROM review.verdict")
    path.write_bytes(whole)
    assert len(verdicts(home, TASK)) == 1


def test_an_addition_that_fails_loses_nothing(home, labels, monkeypatch):
    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-01")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "write_report", killed)
    with pytest.raises(KeyboardInterrupt):
        add(home, TASK, labels[1][0], klass(), True, "ann", day="2026-03-01")
    monkeypatch.undo()
    assert len(verdicts(home, TASK)) == 1
    add(home, TASK, labels[1][0], klass(), True, "ann", day="2026-03-01")
    assert [row[0] for row in verdicts(home, TASK)] == [1, 2]


def test_the_views_are_there_once_somebody_reviewed(home, labels):
    schemas = "SELECT table_schema FROM information_schema.tables"
    assert ("review",) not in connect(home).execute(schemas).fetchall()
    add(home, TASK, labels[0][0], klass(), True, "ann", day="2026-03-01")
    assert connect(home).execute("SELECT count(*) FROM review.verdict").fetchall() == [(1,)]


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        ((20, 10, 5, 15), 0.4),  # Cohen's own kind of table: p_o 0.7, p_e 0.5
        ((50, 0, 0, 50), 1.0),
        ((0, 50, 50, 0), -1.0),
        ((25, 25, 25, 25), 0.0),
        ((9, 1, 0, 0), 0.0),
        ((9, 0, 0, 0), None),
        ((0, 0, 0, 9), None),
        ((0, 0, 0, 0), None),
    ],
)
def test_kappa_is_as_defined(cells, kappa):
    found, why = cohen_kappa(*cells)
    assert found == (kappa if kappa is None else pytest.approx(kappa, abs=1e-12))
    assert (why is None) == (kappa is not None)


def test_kappa_is_scikit_learns():
    from sklearn.metrics import cohen_kappa_score

    draw = random.Random(0)
    for _ in range(50):
        cells = [draw.randrange(1, 30) for _ in range(4)]
        label = [1] * cells[0] + [1] * cells[1] + [0] * cells[2] + [0] * cells[3]
        reader = [1] * cells[0] + [0] * cells[1] + [1] * cells[2] + [0] * cells[3]
        assert cohen_kappa(*cells)[0] == pytest.approx(cohen_kappa_score(label, reader), abs=1e-12)


def test_an_unknown_task_is_usage(home):
    with pytest.raises(UsageError, match="found no task"):
        agreement(home, "nothing") or add(home, "nothing", "x", "y", True, "ann")
