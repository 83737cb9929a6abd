"""The command line: every verb has help and stands in the README; JSON alone on stdout; exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from releases import small_release

import cli

ROOT = Path(__file__).parents[1]
TASK = "vitaldb-arrhythmia-abnormal"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return small_release(tmp_path_factory.mktemp("cli") / "release", cases=24, seconds=180)


@pytest.fixture(scope="module")
def home(release) -> Path:
    """A built home that the tests of this file share."""
    place = release.parent / "data"
    assert run("load", "vitaldb-arrhythmia", release, data=place).exit_code == 0
    assert run("materialize", data=place).exit_code == 0
    return place


def run(*args: object, data: Path):
    return CliRunner().invoke(cli.main, [*map(str, args), "--data", str(data)], catch_exceptions=False)


def as_json(*args: object, data: Path, code: int = 0):
    result = run(*args, "--json", data=data)
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", cli.main.commands)
def test_every_verb_has_help_and_stands_in_the_readme(name):
    result = CliRunner().invoke(cli.main, [name, "--help"])
    assert result.exit_code == 0
    command = cli.main.commands[name]
    assert command.help
    assert command.help.strip().endswith(".")
    for option in command.params:
        assert getattr(option, "help", "an argument has none") or option.param_type_name == "argument", option
    assert re.search(rf"^\| `{name}\b", (ROOT / "README.md").read_text(), re.MULTILINE), (
        f"README lacks {name}"
    )


def test_the_readme_lists_no_verb_that_is_not_there():
    commands = (ROOT / "README.md").read_text().split("## Commands")[1]
    listed = re.findall(r"^\| `([a-z-]+)[^`]*` \|", commands, re.MULTILINE)
    assert set(listed) == set(cli.main.commands)


def test_every_verb_takes_data():
    for name, command in cli.main.commands.items():
        assert any("--data" in option.opts for option in command.params), name


def test_the_street_in_json(home, tmp_path):
    counts = as_json("counts", TASK, data=home)
    assert counts["task"] == f"{TASK}@0"
    assert list(counts["parts"]) == ["train", "validation", "test"]
    for part in counts["parts"].values():
        assert set(part) == {"records", "left_out", "scored", "classes"}
        assert 0 < part["classes"]["abnormal"] < part["scored"] <= part["records"]
    assert "membership is not available" in counts["notes"][0]

    rows = as_json(
        "sql", f"SELECT part, count(*) AS n FROM task.{TASK.replace('-', '_')} GROUP BY part", data=home
    )
    found = {row["part"]: row["n"] for row in rows}
    assert found == {name: part["records"] + part["left_out"] for name, part in counts["parts"].items()}

    views = {row["view"]: row for row in as_json("views", data=home)}
    assert views["vitaldb.segment_v0"]["built"] == "yes"
    assert views["vitaldb.noise_v0"]["stored"] == "no"

    assert all(finding["rows"] == 0 for finding in as_json("audit", TASK, data=home))

    file = as_json("baseline", TASK, "rr-annotated", "--out", tmp_path / "rr.parquet", data=home)["file"]
    score = as_json("score", TASK, file, data=home)
    assert score["metrics"]["auroc"]["value"] > 0.5
    assert any("membership is not available" in note for note in score["notes"])
    board = as_json("leaderboard", TASK, data=home)
    assert board[0]["run"] == score["run"]
    assert as_json("verify", score["run"], data=home)["ok"]

    cited = as_json("cite", TASK, data=home)
    assert cited["spec"]["follows"] == "bd4a0b735b2c"
    assert cited["dataset"]["licence"] == "CC BY 4.0"
    assert "view" in run("cite", TASK, data=home).stdout


def test_a_score_that_cannot_be_kept_is_printed(home, tmp_path):
    file = as_json("baseline", TASK, "prior", "--out", tmp_path / "prior.parquet", data=home)["file"]
    place = tmp_path / "data"
    place.mkdir()
    for name in ("raw", "built"):
        (place / name).symlink_to((home / name).resolve())
    (place / "runs").write_text("a file where the folder should be")
    result = run("score", TASK, file, data=place)
    assert result.exit_code == 2
    assert "auroc (primary)                              0.5000" in result.stdout
    assert "the score above is not kept as a run" in result.stderr
    assert as_json("score", TASK, file, data=place, code=2)["run"] is None


def test_counts_by_a_column(home):
    whole = as_json("counts", TASK, data=home)["parts"]
    for column in ("ecg", "bad_signal_quality", "sex", "department"):
        groups = as_json("counts", TASK, "--by", column, data=home)["groups"]
        for part, total in whole.items():
            told = sum(group["parts"].get(part, {"scored": 0})["scored"] for group in groups.values())
            assert told == total["scored"], column
    result = run("counts", TASK, "--by", "shoe_size", data=home)
    assert result.exit_code == 2
    assert "expected one of: instance_id, record_id" in result.stderr
    assert "department" in result.stderr


def test_materialize_says_what_it_did_and_checks(home):
    again = as_json("materialize", data=home)
    assert again["built"] == []
    assert "task.vitaldb_arrhythmia_abnormal_v0" in again["kept"]
    assert as_json("materialize", "--check", data=home)["differences"] == []
    assert as_json("materialize", TASK, data=home)["built"] == []
    assert as_json("materialize", "vitaldb.segment@0", data=home)["kept"] == ["vitaldb.segment_v0"]


def test_check_finds_a_changed_file(release, tmp_path):
    place = tmp_path / "data"
    run("load", "vitaldb-arrhythmia", release, data=place)
    run("materialize", data=place)
    path = place / "built" / "vitaldb" / "segment_v0.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    difference = as_json("materialize", "--check", data=place, code=1)["differences"]
    assert difference == [
        "vitaldb.segment_v0: vitaldb/segment_v0.parquet is missing or was changed since it was built"
    ]
    path.unlink()
    assert run("materialize", "--check", data=place).exit_code == 1
    assert "vitaldb.segment_v0" in as_json("materialize", data=place)["built"]
    assert run("materialize", "--check", data=place).exit_code == 0


def test_check_finds_other_raw_data(release, tmp_path):
    place = tmp_path / "data"
    run("load", "vitaldb-arrhythmia", release, data=place)
    run("materialize", data=place)
    other = small_release(tmp_path / "other", seed=7)
    run("load", "vitaldb-arrhythmia", other, data=place)
    result = run("materialize", "--check", data=place)
    assert result.exit_code == 1
    assert "built from another fingerprint (raw_vitaldb.annotation changed)" in result.stdout


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["counts", "no-such-task"], 2, "expected one of: "),
        (["counts", f"{TASK}@9"], 2, "found no task"),
        (["materialize", "vitaldb.nothing"], 2, "found no view"),
        (["materialize", "vitaldb.segments"], 2, "perhaps vitaldb.segment"),
        (["load", "nothing", "."], 2, "found no data set 'nothing'"),
        (["load", "vitaldb-arrhythmia", "no-such-folder"], 2, "found nothing"),
        (["sql", "DROP TABLE x"], 2, "expected one SELECT"),
        (["score", TASK, "no-such-file.csv"], 2, "no-such-file.csv"),
        (["baseline", TASK, "oracle"], 2, "oracle"),
        (["verify", "no-such-run"], 2, "no-such-run"),
        (["release", "vitaldb.nothing@0"], 2, "found no view"),
        (["fly"], 2, "No such command"),
        (["counts"], 2, "Missing argument"),
    ],
)
def test_wrong_usage_is_two_and_says_what_was_expected(home, args, code, words):
    result = run(*args, data=home) if args[0] in cli.main.commands else CliRunner().invoke(cli.main, args)
    assert result.exit_code == code
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_rejected_input_is_one(tmp_path):
    (tmp_path / "empty").mkdir()
    result = run("load", "vitaldb-arrhythmia", tmp_path / "empty", data=tmp_path / "data")
    assert result.exit_code == 1
    assert "next: pass the folder of one release" in result.stderr


def test_an_edited_rule_is_said_on_stderr(home, monkeypatch, tmp_path):
    import shutil

    from warehouse import manifest, views

    rules = tmp_path / "sql"
    shutil.copytree(ROOT / "sql", rules)
    monkeypatch.setattr(manifest, "sql_root", lambda: rules)
    monkeypatch.setattr(views, "sql_root", lambda: rules)
    view = rules / "vitaldb" / "normal_context_v0.sql"
    view.write_text(view.read_text().replace("-- Uninterrupted runs", "-- Unbroken runs"))
    assert run("counts", TASK, data=home).stderr == ""
    view.write_text(view.read_text().replace("45 AS normal_context_s", "30 AS normal_context_s"))
    result = run("counts", TASK, data=home)
    assert result.exit_code == 0
    assert "vitaldb.normal_context_v0 changed since this was built; run materialize" in result.stderr


def test_ctrl_c_while_duckdb_works_is_no_traceback(monkeypatch, home):
    from warehouse import counts

    def interrupted(*args):
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(counts, "count", interrupted)
    result = CliRunner().invoke(cli.main, ["counts", TASK, "--data", str(home)])
    assert result.exit_code == 1
    assert result.stderr.strip() == "Aborted!"


def test_version_and_help():
    assert CliRunner().invoke(cli.main, ["--version"]).stdout.startswith("leadhouse ")
    text = CliRunner().invoke(cli.main, ["--help"]).stdout
    assert text.index("\n  load ") < text.index("\n  materialize ") < text.index("\n  score ")
