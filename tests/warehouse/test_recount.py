"""`verify TASK`: the stated numbers, counted again."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import cli
from warehouse import recount as module
from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path
from warehouse.recount import leaves, recount
from warehouse.spec import specs

TASK = "vitaldb-arrhythmia-abnormal@0"


def test_leaves_names_what_its_braces_stood_for():
    data = {"counts": {"test": {"A": 1, "B": [2, 3]}, "train": {"A": 4}}, "of": "text"}
    assert list(leaves(data, "counts.{part}.A")) == [
        ("counts.test.A", {"part": "test"}, 1),
        ("counts.train.A", {"part": "train"}, 4),
    ]
    assert list(leaves(data, "counts.test.B.{place}")) == [
        ("counts.test.B.0", {"place": 0}, 2),
        ("counts.test.B.1", {"place": 1}, 3),
    ]
    assert list(leaves(data, "of")) == []
    assert list(leaves(data, "counts.nowhere.{x}")) == []


@pytest.mark.parametrize("path", sorted(registry_path("recounts").glob("*.json")), ids=lambda path: path.stem)
def test_a_recount_belongs_to_a_task_and_its_paths_are_in_the_spec(path):
    spec = next(spec for spec in specs() if spec.name == path.stem)
    for entry in json.loads(path.read_text())["entries"]:
        assert entry["sql"].startswith("SELECT")
        if "path" in entry:
            assert list(leaves(spec.data, entry["path"])), entry["path"]
        else:
            assert {"what", "expected", "source"} <= set(entry)


def test_every_number_that_the_lydus_spec_states_is_counted_or_left_for_a_reason():
    spec = next(spec for spec in specs() if spec.name == "lydus-ecg-image@0")
    declared = json.loads(registry_path("recounts", f"{spec.name}.json").read_text())
    places = ["counts", "agreement", "exclusions", "stated", "split.parts", "split.sample.test.size"]
    places += ["split.sample.train.size", "split.sample.validation.size", "baselines.prior"]
    places += ["input.render.wfdb_gain.records"]
    stated = set()
    for depth in ("", ".{a}", ".{a}.{b}", ".{a}.{b}.{c}"):
        for place in places:
            stated |= {what for what, _, _ in leaves(spec.data, place + depth)}
    counted = {
        what
        for entry in [*declared["entries"], *declared["left"]]
        if "path" in entry
        for what, _, _ in leaves(spec.data, entry["path"])
    }
    assert len(stated) > 90
    assert stated - counted == set()


def test_the_recount_of_the_prior_is_the_published_one():
    """The query on the published counts, in place of the view."""
    import duckdb

    spec = next(spec for spec in specs() if spec.name == "lydus-ecg-image@0")
    declared = json.loads(registry_path("recounts", f"{spec.name}.json").read_text())
    (entry,) = (each for each in declared["entries"] if each.get("path") == "baselines.prior.macro_f_measure")
    con = duckdb.connect()
    con.execute(
        "CREATE SCHEMA lydus; CREATE TABLE lydus.class_count_v0 (part VARCHAR, class VARCHAR, records BIGINT)"
    )
    for part in ("test", "train"):
        for name, records in spec.data["counts"][part].items():
            con.execute("INSERT INTO lydus.class_count_v0 VALUES (?, ?, ?)", [part, name, records])
    assert round(con.execute(entry["sql"]).fetchone()[0], 3) == 0.252


def test_on_the_real_files_every_number_comes_out(real_home):
    counted = recount(real_home, TASK)
    assert counted.holds
    assert len(counted.numbers) >= 17
    assert counted.different == []


def test_on_another_release_it_says_so_and_passes(synthetic_home):
    result = CliRunner().invoke(cli.main, ["verify", TASK, "--data", str(synthetic_home.path)])
    assert result.exit_code == 0
    assert "loaded is another release, so they may well differ" in result.stdout
    assert "≠  annotation files" in result.stdout


def test_a_difference_on_the_stated_release_is_a_failure(synthetic_home, monkeypatch):
    monkeypatch.setattr(
        module,
        "read_report",
        lambda home, dataset: {"release": {"name": "vitaldb/arrdb @dccaf305 (2025-09-30)"}},
    )
    result = CliRunner().invoke(cli.main, ["verify", TASK, "--json", "--data", str(synthetic_home.path)])
    assert result.exit_code == 1
    assert "of 17 stated numbers differ" in result.stderr
    found = json.loads(result.stdout)
    assert found["different"] == sum(not number["same"] for number in found["numbers"]) > 10


def test_a_broken_entry_names_its_file(synthetic_home, monkeypatch, tmp_path):
    file = tmp_path / f"{TASK}.json"
    monkeypatch.setattr(module, "registry_path", lambda *parts: file)
    file.write_text(json.dumps({"release": "x", "entries": [{"path": "counts.nothing", "sql": "SELECT 1"}]}))
    with pytest.raises(RegistryError, match=r"abnormal@0.json: found path 'counts.nothing'"):
        recount(synthetic_home, TASK)
    entry = {"what": "a", "expected": 1, "source": "b", "sql": "SELECT * FROM nothing"}
    file.write_text(json.dumps({"release": "x", "entries": [entry]}))
    with pytest.raises(RegistryError, match=r"abnormal@0.json, a: the query fails"):
        recount(synthetic_home, TASK)
    file.unlink()
    with pytest.raises(UsageError, match="states no number"):
        recount(synthetic_home, TASK)
