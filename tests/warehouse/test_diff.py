"""diff: two versions beside each other, the working tree beside a revision, formats, budgets, bad input."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest
from click.testing import CliRunner

import cli
from warehouse.diff.declarations import declaration_changes
from warehouse.diff.placing import in_place_of, renamed
from warehouse.diff.result import Budget
from warehouse.diff.tables import key_of, map_changes, part_moves
from warehouse.diff.versions import diff
from warehouse.errors import RegistryError, UsageError
from warehouse.spec import find_spec
from warehouse.variant import open_variant
from warehouse.views import Catalog, View

ROOT = Path(__file__).parents[2]
TASK = "vitaldb-arrhythmia-abnormal@0"
VIEW = "vitaldb.normal_context"


def run(*args: object, home, code: int | None = 0):
    result = CliRunner().invoke(
        cli.main, ["diff", *map(str, args), "--data", str(home.path)], catch_exceptions=False
    )
    assert code is None or result.exit_code == code, result.stderr
    return result


def as_json(*args: object, home, code: int = 0) -> dict:
    return json.loads(run(*args, "--json", home=home, code=code).stdout)


def test_a_budget_that_nothing_was_held_against_is_no_pass(lydus_home):
    """A build that failed before must not turn a check green."""
    assert "not built here" in run(f"{VIEW}@0", "@2", home=lydus_home).stdout
    result = run(f"{VIEW}@0", "@2", "--max-flips", "0", home=lydus_home, code=2)
    assert f"found no build of {TASK}" in result.stderr


# The real files


@pytest.mark.parametrize(
    ("version", "number", "flip"), [(1, 2_002, (None, False)), (2, 6_220, (False, None))]
)
def test_a_second_version_on_the_real_files(real_home, version, number, flip):
    found = as_json(f"{VIEW}@0", f"@{version}", home=real_home)
    (task,) = found["tasks"]
    assert (task["task"], task["instances"], task["flipped"]) == (TASK, 107_420, number)
    assert len({each["instance_id"] for each in found["flips"]}) == number
    assert {(each["class"], each["before"], each["after"]) for each in found["flips"]} == {
        ("abnormal", *flip)
    }
    side = "after" if flip[0] is None else "before"
    for each in found["flips"]:
        assert each["evidence"]
        assert all(row["side"] == side or row["kind"] == "exclusion" for row in each["evidence"])
        assert all(row["words"] for row in each["evidence"])
    for side in ("before", "after"):
        parts = task[side]["parts"].values()
        assert [part["classes"]["abnormal"] for part in parts] == [24_516, 5_283, 10_000]
    assert found["moves"] == found["only"] == []


def test_every_flip_of_the_second_version_is_another_label(real_home):
    """The flips are those that a comparison of the labels themselves gives."""
    found = as_json(f"{VIEW}@0", "@2", home=real_home)
    catalog = Catalog.read()
    spec = find_spec(TASK)
    variant = in_place_of(catalog, spec, catalog[f"{VIEW}_v0"], catalog[f"{VIEW}_v2"])
    con = open_variant(real_home, catalog, variant, [spec.view])
    after = dict(con.execute(f"SELECT instance_id, abnormal FROM {spec.view}").fetchall())
    before = dict(
        duckdb.connect()
        .execute(
            f"SELECT instance_id, abnormal FROM '{real_home.built}/task/vitaldb_arrhythmia_abnormal_v0.parquet'"
        )
        .fetchall()
    )
    assert {each["instance_id"] for each in found["flips"]} == {
        name for name, label in before.items() if after[name] is not label
    }


def test_record_202_moves_to_the_side_of_201(mitdb_home):
    found = as_json("ecg-heartbeat-interpatient@0", "@1", home=mitdb_home)
    (task,) = found["tasks"]
    assert (task["flips"], task["moved"], task["differing"]) == (0, 2_136, 2_136)
    assert {move["instance_id"].split("_")[0] for move in found["moves"]} == {"202"}
    assert {(move["before"]["part"], move["after"]["part"]) for move in found["moves"]} == {("test", "train")}
    words = [change["words"] for rule in found["rule"] for change in rule["changes"]]
    assert "column part computed otherwise: label.de_chazal became label.one_side (2 places)" in words
    assert 'split.by: "record" became "patient"' in words
    run(
        "ecg-heartbeat-interpatient@0", "ecg-heartbeat-interpatient@1", "--max-flips", "2136", home=mitdb_home
    )
    run("ecg-heartbeat-interpatient@0", "@1", "--max-flips", "1%", home=mitdb_home, code=1)


# Two versions


def test_a_view_beside_itself_is_the_same(synthetic_home):
    result = run(f"{VIEW}@0", "@0", "--max-flips", "0", home=synthetic_home)
    assert "the same: no rule and no instance differs" in result.stdout
    assert as_json(TASK, "@0", home=synthetic_home)["same"] is True
    assert as_json("map.dx_hedge", "map.dx_hedge", home=synthetic_home)["same"] is True


def test_the_rows_of_a_view_are_paired_by_its_grain(synthetic_home):
    found = as_json(f"{VIEW}@0", "@2", home=synthetic_home)
    rows = found["rows"]
    con = open_variant(synthetic_home, Catalog.read(), _no_variant(), [f"{VIEW}_v0", f"{VIEW}_v2"])
    pairs = con.execute(
        f"SELECT one.run_no IS NULL, other.run_no IS NULL, count(*) FROM {VIEW}_v0 AS one "
        f"FULL JOIN {VIEW}_v2 AS other USING (case_id, run_no) GROUP BY ALL"
    ).fetchall()
    counts = {(one, other): number for one, other, number in pairs}
    assert rows["added"] == counts.get((True, False), 0) > 0
    assert rows["removed"] == counts.get((False, True), 0)
    assert rows["changed"] + rows["same"] == counts[False, False]
    shown = [row for row in rows["first"] if row["row"] == "added"]
    assert len(shown) == min(10, rows["added"])
    assert all(row["before"] is None and row["key"].keys() == {"case_id", "run_no"} for row in shown)


def _no_variant():
    from warehouse.variant import Variant

    return Variant()


def test_both_versions_can_be_other_than_the_task_reads(synthetic_home):
    one = as_json(f"{VIEW}@0", "@1", home=synthetic_home)
    two = as_json(f"{VIEW}@0", "@2", home=synthetic_home)
    both = as_json(f"{VIEW}@1", "@2", home=synthetic_home)

    def after(found: dict) -> dict:
        return {part: numbers["scored"] for part, numbers in found["tasks"][0]["after"]["parts"].items()}

    assert after(both) == after(two)
    before = {part: numbers["scored"] for part, numbers in both["tasks"][0]["before"]["parts"].items()}
    assert before == after(one)


def test_a_map_without_a_row(lydus_home, tmp_path):
    file = _hedges(tmp_path / "dx_hedge.csv", leave_out="possible")
    found = as_json("map.dx_hedge", file, home=lydus_home)
    assert [change["words"] for change in found["rule"][0]["changes"]] == [
        "row removed: phrase=possible, source=seed, note=statement 1680"
    ]
    (task,) = found["tasks"]
    assert task["task"] == "lydus-ecg-image@0"
    assert task["flipped"] > 0
    assert all(flip["evidence"] for flip in found["flips"])
    assert all({row["side"] for row in flip["evidence"]} <= {"before", "after"} for flip in found["flips"])
    other = tmp_path / "then" / "dx_hedge.csv"
    other.parent.mkdir()
    shutil.copy(ROOT / "registry" / "maps" / "dx_hedge.csv", other)
    back = as_json(file, other, home=lydus_home)
    assert {
        (flip["instance_id"], flip["class"], flip["before"], flip["after"]) for flip in back["flips"]
    } == {(flip["instance_id"], flip["class"], flip["after"], flip["before"]) for flip in found["flips"]}


def _hedges(path: Path, leave_out: str) -> Path:
    lines = (ROOT / "registry" / "maps" / "dx_hedge.csv").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(f"{leave_out},")))
    return path


@pytest.mark.parametrize("first", [3, None])
def test_the_evidence_of_some_records_is_that_of_all(lydus_home, synthetic_home, tmp_path, first):
    """What is computed from the flipped records alone is what the whole why view says of them."""
    from warehouse.flip_evidence import COLUMNS, DECISIVE, why_view
    from warehouse.flips import compare
    from warehouse.variant import Variant

    spec = find_spec(TASK)
    catalog = Catalog.read()
    other = in_place_of(catalog, spec, catalog[f"{VIEW}_v0"], catalog[f"{VIEW}_v2"])
    hedges = Variant(maps={"dx_hedge": _hedges(tmp_path / "dx_hedge.csv", "possible")})
    asked = ((synthetic_home, spec, other), (lydus_home, find_spec("lydus-ecg-image@0"), hedges))
    for home, task, variant in asked:
        found = compare(home, task, Variant(), variant)
        assert found.flips(first)
        listed = ", ".join(f'"{name}"' for name in ("instance_id", *COLUMNS))
        for side in ("before", "after"):
            cut = found.con.execute(f"SELECT {listed} FROM decisive_{side} ORDER BY ALL").fetchall()
            whole = found.con.execute(
                f"SELECT {listed} FROM {side}.{why_view(task)} WHERE ({DECISIVE}) "
                "AND instance_id IN (SELECT instance_id FROM wanted) ORDER BY ALL"
            ).fetchall()
            assert cut == whole
            assert found.con.execute(f"SELECT count(*) FROM {side}.{task.view}").fetchall()[0][0] > 3


def test_tasks_that_are_not_built_are_named(synthetic_home, tmp_path):
    found = as_json("map.dx_hedge", _hedges(tmp_path / "dx_hedge.csv", "possible"), home=synthetic_home)
    assert found["not_built"] == ["lydus-ecg-image@0"]
    assert found["tasks"] == []
    assert not found["same"]


def test_without_a_home_the_rule_is_said(tmp_path):
    from warehouse.home import Home

    found = as_json(f"{VIEW}@0", "@2", home=Home(tmp_path / "nothing"))
    assert "in CTE normal: filter added: NOT is_premature" in [
        change["words"] for change in found["rule"][0]["changes"]
    ]
    assert found["not_built"] == [TASK]
    assert found["rows"] is None
    assert "rows of the view are not compared" in found["notes"][0]
    assert not (tmp_path / "nothing").exists()


def test_a_version_that_reads_the_one_before_it(synthetic_home):
    """The later one cannot stand in the place of the earlier: then its readers read the later one."""
    catalog = Catalog.read()
    first = catalog[f"{VIEW}_v0"]
    later = _view(first, 9, f"SELECT * FROM {first.name} WHERE case_id > 3")
    catalog = Catalog([*catalog.named.values(), later])
    variant = in_place_of(catalog, find_spec(TASK), first, later)
    assert "vitaldb.segment_evidence_v0" in variant.views
    assert first.name not in variant.views
    con = open_variant(synthetic_home, catalog, variant, ["vitaldb.segment_evidence_v0"])
    query = "SELECT min(case_id) FROM vitaldb.segment_evidence_v0 WHERE rule = 'normal_context'"
    assert con.execute(query).fetchall()[0][0] > 3


def _view(like: View, version: int, sql: str) -> View:
    from dataclasses import replace

    return replace(like, version=version, sql=sql, stored=False)


def test_a_table_is_renamed_at_its_tokens():
    catalog = Catalog.read()
    one, other = catalog[f"{VIEW}_v0"], catalog[f"{VIEW}_v1"]
    sql = "SELECT 'vitaldb.normal_context_v0' AS a /* normal_context_v0 */ FROM vitaldb . normal_context_v0 AS é"
    assert renamed(sql, one, other) == sql.replace(". normal_context_v0", ". normal_context_v1")


# Formats and budgets


def test_flips_as_parquet(synthetic_home, tmp_path):
    file = tmp_path / "flips.parquet"
    found = as_json(f"{VIEW}@0", "@2", "--parquet", file, home=synthetic_home)
    rows = (
        duckdb.connect()
        .execute(f"SELECT DISTINCT task, instance_id, class FROM '{file}' WHERE evidence_words IS NOT NULL")
        .fetchall()
    )
    assert {*rows} == {(flip["task"], flip["instance_id"], flip["class"]) for flip in found["flips"]}
    assert len(rows) > 0
    empty = tmp_path / "none.parquet"
    run(f"{VIEW}@0", "@0", "--parquet", empty, home=synthetic_home)
    assert duckdb.connect().execute(f"SELECT count(*) FROM '{empty}'").fetchall() == [(0,)]


def test_parquet_where_nothing_can_be_written(synthetic_home, tmp_path):
    result = run(
        f"{VIEW}@0", "@2", "--parquet", tmp_path / "no" / "flips.parquet", home=synthetic_home, code=2
    )
    assert "flips.parquet" in result.stderr


def test_markdown_is_short_and_says_all(synthetic_home):
    found = as_json(f"{VIEW}@0", "@2", home=synthetic_home)
    words = run(f"{VIEW}@0", "@2", "--format", "markdown", "--show", "2", home=synthetic_home).stdout
    assert words.startswith("<!-- leadhouse diff -->\n")
    assert "|  | train | validation | test | total | with left-out ones |" in words
    assert "| not abnormal | " in words
    assert "- in CTE normal: filter added: NOT is\\_premature" in words
    assert words.count("before alone:") == 2
    assert words.count("<details>") == words.count("</details>") == 1
    assert f"… and {len(found['flips']) - 2:,} more flips" in words


def test_markdown_fits_in_a_comment(synthetic_home):
    from warehouse.diff.change import Change
    from warehouse.diff.result import Difference, Rule
    from warehouse.diff.text import LONGEST, as_markdown

    changes = [Change("map row", "", f"row {'x' * 150} {number}") for number in range(100)]
    rules = [Rule("map", f"map.m{number}", "changed", changes) for number in range(20)]
    words = as_markdown(Difference("a", "b", rules))
    assert LONGEST - 1_000 < len(words) < LONGEST + 200
    assert "… and 60 more changes" in words
    assert words.endswith("has all._")
    (found,) = [diff(synthetic_home, f"{VIEW}@0", "@2")]
    words = as_markdown(found, 100_000)
    assert len(words) < LONGEST + 200
    assert words.count("<details>") == words.count("</details>")
    assert words.count("```") % 2 == 0


def test_junit_fails_beyond_the_budget(synthetic_home):
    words = run(
        f"{VIEW}@0", "@2", "--format", "junit", "--max-flips", "0", home=synthetic_home, code=1
    ).stdout
    suite = ElementTree.fromstring(words.encode())
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "0")
    (failure,) = suite.iter("failure")
    assert "allowed: 0" in failure.get("message")
    words = run(f"{VIEW}@0", "@2", "--format", "junit", home=synthetic_home).stdout
    assert ElementTree.fromstring(words.encode()).get("failures") == "0"


def test_the_budget_is_a_number_or_a_share(synthetic_home):
    (task,) = as_json(f"{VIEW}@0", "@2", home=synthetic_home)["tasks"]
    number, instances = task["differing"], task["instances"]
    assert 0 < number < instances
    for budget, fits in ((f"{number}", True), (f"{number - 1}", False), ("100%", True), ("0%", False)):
        assert Budget.of(budget).allows(number, instances) is fits
    share = 100 * number / instances
    assert Budget.of(f"{share + 0.01:.4f} %").allows(number, instances)
    assert not Budget.of(f"{share - 0.01:.4f}%").allows(number, instances)
    run(f"{VIEW}@0", "@2", "--max-flips", number, home=synthetic_home)
    result = run(f"{VIEW}@0", "@2", "--json", "--max-flips", number - 1, home=synthetic_home, code=1)
    assert json.loads(result.stdout)["budget"] == {"max_flips": f"{number - 1}", "beyond": [TASK]}
    assert "more instances differ than --max-flips" in result.stderr


@pytest.mark.parametrize("text", ["-1", "1e3", "101%", "%", "many", "0.5", ""])
def test_a_budget_that_is_none(text):
    with pytest.raises(UsageError, match="found --max-flips"):
        Budget.of(text)


# Maps, splits, declarations


def _csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n")
    return path


def test_rows_of_a_map_are_found_by_their_key(tmp_path):
    before = _csv(tmp_path / "a.csv", "value,field,class", "x,one,A", "x,two,B", "y,one,C")
    after = _csv(tmp_path / "b.csv", "value,field,class", "y,one,D", "x,one,A", "z,one,E")
    assert [str(change) for change in map_changes("m", before, after)] == [
        "row removed: value=x, field=two, class=B",
        "row added: value=z, field=one, class=E",
        "row y + one: class 'C' became 'D'",
    ]
    assert map_changes("m", before, before) == []


def test_order_columns_and_double_rows_of_a_map(tmp_path):
    before = _csv(tmp_path / "a.csv", "k,v", "a,1", "b,2")
    assert [
        str(each) for each in map_changes("m", before, _csv(tmp_path / "b.csv", "k,v", "b,2", "a,1"))
    ] == ["the rows stand in another order"]
    assert [
        str(each) for each in map_changes("m", before, _csv(tmp_path / "c.csv", "k,w", "a,1", "b,2"))
    ] == [
        "column v removed",
        "column w added",
    ]
    twice = _csv(tmp_path / "d.csv", "k,v", "a,1", "a,1", "b,2")
    assert key_of([{"k": "a"}, {"k": "a"}]) is None
    assert [str(each) for each in map_changes("m", before, twice)] == ["row added: k=a, v=1"]
    assert [str(each) for each in map_changes("m", None, before)] == ["map.m is new: 2 rows"]


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "registry" / "maps").glob("*.csv"))])
def test_every_map_of_ours_has_a_key(name, tmp_path):
    path = ROOT / "registry" / "maps" / f"{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    with (tmp_path / "m.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([*rows[:-1], [*rows[-1][:-1], "another word"]])
    (change,) = map_changes(name, path, tmp_path / "m.csv")
    assert "became 'another word'" in str(change)


def test_a_map_that_is_no_csv(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"k,v\n\xff\xfe,1\n")
    (tmp_path / "b.csv").write_text('k,v\n"a,1\n')
    for name in ("a.csv", "b.csv"):
        with pytest.raises(RegistryError, match=name):
            map_changes("m", tmp_path / name, tmp_path / name)


def test_units_that_move():
    moves = part_moves({"a": "train", "b": "train", "c": "test"}, {"a": "test", "b": "test", "d": "train"})
    assert [str(move) for move in moves] == [
        "1 units: no part → train",
        "1 units: test → no part",
        "2 units: train → test",
    ]


def test_declarations_are_compared_by_path():
    before = {"a": {"b": 1, "c": [1, 2]}, "list": [{"part": "x", "text": "old"}, {"part": "y", "text": "is"}]}
    after = {
        "a": {"b": 2, "c": [2, 3]},
        "list": [{"part": "y", "text": "is"}, {"part": "x", "text": "new"}],
        "n": 0,
    }
    assert [str(change) for change in declaration_changes(before, after)] == [
        "a.b: 1 became 2",
        "a.c: 1 removed",
        "a.c: 3 added",
        'list.x.text: "old" became "new"',
        "n: 0 added",
    ]


# Since a revision


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    """A git repository with our rules in a subfolder, committed once; it is the project for the test."""
    project = tmp_path / "repository" / "labels"
    for name in ("sql", "registry"):
        shutil.copytree(ROOT / name, project / name)
    git(project.parent, "init", "-q", "-b", "main")
    commit(project.parent)
    monkeypatch.setattr("warehouse.project.project_root", lambda: project)
    return project


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "rules")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_nothing_changed_since(checkout, synthetic_home):
    found = as_json("--since", "HEAD", "--max-flips", "0", home=synthetic_home)
    assert found["same"] is True
    assert found["rule"] == found["tasks"] == []


def test_a_comment_is_no_change(checkout, synthetic_home):
    edit(checkout / "sql/vitaldb/normal_context_v0.sql", "SELECT\n", "SELECT  -- the runs\n")
    assert as_json("--since", "HEAD", home=synthetic_home)["rule"] == []


def test_a_constant_changed_since(checkout, synthetic_home):
    edit(checkout / "sql/vitaldb/normal_context_v0.sql", "45 AS normal", "30 AS normal")
    before = git(checkout, "status", "--porcelain")
    found = as_json("--since", "main", home=synthetic_home)
    assert git(checkout, "status", "--porcelain") == before
    (rule,) = found["rule"]
    assert (rule["name"], rule["state"]) == (f"{VIEW}_v0", "changed")
    assert [change["words"] for change in rule["changes"]] == [
        "constant normal_context_s changed from 45 to 30"
    ]
    (task,) = found["tasks"]
    assert task["task"] == TASK
    flips = {(flip["before"], flip["after"]) for flip in found["flips"]}
    assert flips == {(None, False)}
    assert all(flip["evidence"] for flip in found["flips"])
    commit(checkout)
    assert as_json("--since", "HEAD", home=synthetic_home)["same"] is True
    back = as_json("--since", "HEAD~1", home=synthetic_home)
    assert back["flips"] == found["flips"]


def test_new_removed_and_renamed_views_and_maps(checkout, synthetic_home):
    folder = checkout / "sql" / "vitaldb"
    text = (folder / "normal_context_v0.sql").read_text()
    text = text.replace("context v0", "context v3").replace("status: released", "status: draft")
    (folder / "normal_context_v3.sql").write_text(text.replace("45 AS normal", "60 AS normal"))
    (folder / "rhythm_count_v0.sql").unlink()
    _csv(checkout / "registry/maps/fresh.csv", "k,v", "a,1")
    edit(checkout / "registry/maps/dx_hedge.csv", "consider,seed", "consider,ours")
    found = as_json("--since", "HEAD", home=synthetic_home)
    states = {(rule["kind"], rule["name"]): rule for rule in found["rule"]}
    assert {key: rule["state"] for key, rule in states.items()} == {
        ("view", f"{VIEW}_v3"): "new",
        ("view", "vitaldb.rhythm_count_v0"): "removed",
        ("map", "map.dx_hedge"): "changed",
        ("map", "map.fresh"): "new",
    }
    new = states["view", f"{VIEW}_v3"]
    assert new["against"] == f"{VIEW}_v0"
    assert "constant normal_context_s changed from 45 to 60" in [change["words"] for change in new["changes"]]
    assert found["not_built"] == ["lydus-ecg-image@0"]
    words = run("--since", "HEAD", home=synthetic_home).stdout
    assert "new: map.fresh" in words
    assert "removed: vitaldb.rhythm_count_v0" in words


def test_a_map_changed_since(checkout, lydus_home):
    _hedges(checkout / "registry/maps/dx_hedge.csv", leave_out="possible")
    found = as_json("--since", "HEAD", "lydus-ecg-image", home=lydus_home)
    (task,) = found["tasks"]
    assert task["flipped"] > 0
    assert all(flip["evidence"] for flip in found["flips"])
    git(checkout, "checkout", "-q", "--", "registry")
    (checkout / "registry/maps/dx_hedge.csv").rename(checkout / "registry/maps/dx_guess.csv")
    for path in (checkout / "sql").glob("*/*.sql"):
        path.write_text(path.read_text().replace("map.dx_hedge", "map.dx_guess"))
    found = as_json("--since", "HEAD", home=lydus_home)
    assert found["flips"] == []
    assert {rule["name"]: rule["state"] for rule in found["rule"] if rule["kind"] == "map"} == {
        "map.dx_guess": "new",
        "map.dx_hedge": "removed",
    }


def test_a_split_drawn_otherwise_since(checkout, synthetic_home):
    from warehouse.splits import Split, draw

    path = checkout / "registry/splits/vitaldb.json"
    declared = json.loads(path.read_text())
    before = draw("vitaldb", declared)
    changed = {**declared, "seed": declared["seed"] + 1}
    import numpy as np

    units = np.arange(changed["units"]["first"], changed["units"]["last"] + 1)
    parts = np.empty(len(units), dtype=object)
    shuffled = np.random.default_rng(changed["seed"]).permutation(units)
    parts[shuffled - units[0]] = np.repeat(list(changed["parts"]), list(changed["parts"].values()))
    changed["sha256"] = Split("vitaldb", units, parts, changed).sha256
    path.write_text(json.dumps(changed))
    found = as_json("--since", "HEAD", "--max-flips", "99%", home=synthetic_home)
    (rule,) = found["rule"]
    words = [change["words"] for change in rule["changes"]]
    assert f"seed: {declared['seed']} became {changed['seed']}" in words
    number = int(((before.parts == "train") & (parts == "test")).sum())
    assert f"{number:,} units: train → test" in words
    (task,) = found["tasks"]
    assert task["flips"] == 0
    assert task["moved"] > 0
    part = dict(zip(units.tolist(), parts, strict=True))
    query = f"SELECT instance_id, group_id FROM '{synthetic_home.built}/task/vitaldb_arrhythmia_abnormal_v0.parquet'"
    group = dict(duckdb.connect().execute(query).fetchall())
    assert all(move["after"]["part"] == part[group[move["instance_id"]]] for move in found["moves"])


def test_splits_that_need_the_data_are_drawn_from_what_is_loaded(checkout, lydus_home, heartbeat_home):
    edit(checkout / "registry/splits/lydus.json", '"seed": [20261030, 3]', '"seed": [20261030, 4]')
    (task,) = as_json("--since", "HEAD", home=lydus_home)["tasks"]
    assert task["moved"] > 0
    git(checkout, "checkout", "-q", "--", ".")
    edit(checkout / "registry/splits/mitbih.json", '"seed": 20261031', '"seed": 20261032')
    found = as_json("--since", "HEAD", home=heartbeat_home)
    assert {task["task"] for task in found["tasks"]} == {
        "ecg-heartbeat-arrhythmia@0",
        "ecg-heartbeat-balanced@0",
    }
    assert all(task["moved"] > 0 for task in found["tasks"])
    note = as_json("--since", "HEAD", home=lydus_home)["notes"]
    assert any("split.mitbih: its data set is not loaded here" in each for each in note)


def test_a_spec_changed_since(checkout, synthetic_home):
    edit(checkout / f"registry/tasks/{TASK}.json", '"threshold": 0.5', '"threshold": 0.4')
    found = as_json("--since", "HEAD", home=synthetic_home)
    (rule,) = found["rule"]
    assert [change["words"] for change in rule["changes"]] == ["metrics.threshold: 0.5 became 0.4"]
    assert found["tasks"][0]["differing"] == 0


def test_only_the_tasks_that_are_asked_for(checkout, heartbeat_home):
    edit(checkout / "registry/maps/mitbih_symbol.csv", "e,beat,N,", "e,beat,S,")
    found = as_json("--since", "HEAD", "ecg-heartbeat-arrhythmia", home=heartbeat_home)
    assert [task["task"] for task in found["tasks"]] == ["ecg-heartbeat-arrhythmia@0"]


def test_the_command_of_the_workflow_in_the_docs(checkout, synthetic_home, monkeypatch, tmp_path):
    """The line that runs in CI, as it stands there."""
    import shlex

    workflow = (ROOT / "docs" / "labels-in-pull-requests.yml").read_text()
    (line,) = [line for line in workflow.splitlines() if line.strip().startswith("leadhouse diff")]
    command, _, redirect = line.strip().removeprefix("leadhouse diff ").partition(" > ")
    assert redirect == "labels.md || status=$?"
    words = shlex.split(
        command.replace("origin/${{ github.base_ref }}", "main").replace("$MAX_FLIPS", "0.1%")
    )
    edit(checkout / "sql/vitaldb/normal_context_v0.sql", "45 AS normal", "30 AS normal")
    monkeypatch.chdir(tmp_path)
    result = run(*words, home=synthetic_home, code=1)
    assert result.stdout.startswith("<!-- leadhouse diff -->")
    assert "beyond the budget of 0.1%" in result.stdout
    assert (tmp_path / "flips.parquet").is_file()
    assert "<!-- leadhouse diff -->" in workflow.split("first='")[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FROM vitaldb.annotation_v0", "FROM vitaldb.annotation_v7"),
        ("FROM vitaldb.annotation_v0", "FROM FROM vitaldb.annotation_v0"),
        ("        , time_s\n", "        , time_of_day_s\n"),
        ("-- layer: evidence\n", "-- layer: attic\n"),
    ],
)
def test_a_broken_view_of_the_working_tree_is_named(checkout, synthetic_home, old, new):
    edit(checkout / "sql/vitaldb/normal_context_v0.sql", old, new)
    result = run("--since", "HEAD", home=synthetic_home, code=2)
    assert "normal_context_v0.sql" in result.stderr
    assert result.stdout == ""


def test_a_broken_view_of_the_revision_is_named(checkout, synthetic_home):
    path, right = checkout / "sql/vitaldb/normal_context_v0.sql", "FROM vitaldb.annotation_v0"
    edit(path, right, f"FROM {right}")
    commit(checkout)
    edit(path, f"FROM {right}", right)
    result = run("--since", "HEAD", home=synthetic_home, code=2)
    assert "HEAD:sql/vitaldb/normal_context_v0.sql" in result.stderr


def test_a_revision_that_git_does_not_know(checkout, synthetic_home):
    for revision in ("nothing", "--all", "HEAD~99", ""):
        result = run(f"--since={revision}", home=synthetic_home, code=2)
        assert "git knows no revision" in result.stderr
    empty = git(checkout, "commit-tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "-m", "empty").strip()
    assert "found no folder sql" in run("--since", empty, home=synthetic_home, code=2).stderr


def test_no_git_repository(tmp_path, monkeypatch, synthetic_home):
    for name in ("sql", "registry"):
        shutil.copytree(ROOT / name, tmp_path / "project" / name)
    monkeypatch.setattr("warehouse.project.project_root", lambda: tmp_path / "project")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert "expected a git repository" in run("--since", "HEAD", home=synthetic_home, code=2).stderr
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "found no git" in run("--since", "HEAD", home=synthetic_home, code=2).stderr


# Bad input


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((f"{VIEW}@0", "@7"), f"expected one of the versions {VIEW}@0, {VIEW}@1, {VIEW}@2"),
        ((TASK, "@7"), "expected one of the versions vitaldb-arrhythmia-abnormal@0"),
        ((f"{VIEW}@0", "vitaldb.segment@0"), "expected two versions of one view"),
        ((f"{VIEW}@0",), "expected A and B, or --since REV"),
        ((), "expected A and B, or --since REV"),
        (("nothing", "@1"), "found no view 'nothing'"),
        ((TASK, "lydus-ecg-image@0"), "expected two tasks on the same instances"),
        ((TASK, f"{VIEW}@0"), "found no task"),
        (("map.dx_hedge", "absent.csv"), "absent.csv: found no file"),
        (("map.nothing", "map.nothing"), "found no map 'nothing'"),
        (("map.dx_hedge", "map.nothing"), "found no map 'nothing'; expected one of: dx_code"),
        (("map.dx_hedge", "map.dx_code"), "found columns"),
        (("map.dx_hedge", f"{VIEW}@0"), "beside a map"),
        ((f"{VIEW}@0", "@1", "--max-flips", "some"), "found --max-flips 'some'"),
        (("--since", "HEAD", "nothing"), "found no task 'nothing'"),
    ],
)
def test_bad_input(synthetic_home, args, said):
    result = run(*args, home=synthetic_home, code=2)
    assert said in result.stderr
    assert result.stdout == ""


def test_a_map_file_with_other_columns(synthetic_home, tmp_path):
    file = _csv(tmp_path / "dx_hedge.csv", "phrase,source", "possible,seed")
    said = run("map.dx_hedge", file, home=synthetic_home, code=2).stderr
    assert "found columns phrase, source; expected those of map.dx_hedge: phrase, source, note" in said
    file = _csv(tmp_path / "dx_hedge.csv", "phrase,source,note", "possible,seed,", "possible,clinical,")
    said = run("map.dx_hedge", file, home=synthetic_home, code=2).stderr
    assert "found phrase 'possible' in row 2 and again in row 3; expected it once" in said
    file = _csv(tmp_path / "another.csv", "phrase,source,note", "possible,seed,")
    assert "found no map 'another'" in run(file, file, home=synthetic_home, code=2).stderr


def test_views_of_different_grain(synthetic_home):
    catalog = Catalog.read()
    first = catalog[f"{VIEW}_v0"]
    from dataclasses import replace

    coarse = replace(first, version=8, grain=("case_id",))
    with pytest.raises(
        UsageError, match=r"a row a case_id, run_no and .* a row a case_id; expected two versions"
    ):
        diff(synthetic_home, f"{VIEW}@0", "@8", catalog=Catalog([*catalog.named.values(), coarse]))
