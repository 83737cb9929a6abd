"""`bundle`: what is in the archive, that its bytes hang on the build alone, and that nothing private is in it."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pytest
from releases import small_release

import warehouse.views
from pipelines.bundle import stage
from pipelines.bundle.check import verify_bundle
from pipelines.bundle.stage import bundle
from warehouse.counts import count
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.load.cards import card_of, datasets
from warehouse.load.vitaldb_arrhythmia import load
from warehouse.materialize import materialize
from warehouse.task import read_task
from warehouse.views import Catalog

ROOT = Path(__file__).parents[2]
TASK = "lydus-ecg-image@0"


@pytest.fixture(scope="module")
def archive(lydus_home, tmp_path_factory) -> Path:
    return bundle(lydus_home, TASK, tmp_path_factory.mktemp("bundle")).file


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def test_everything_that_the_labels_rest_on_is_there(lydus_home, archive):
    found = members(archive)
    catalog = Catalog.read()
    lineage = catalog.lineage(["task.lydus_ecg_image_v0"])
    reads = {name for view in lineage for name in view.reads}
    assert {name for name in found if name.startswith("sql/")} == {
        f"sql/{view.schema}/{view.path.name}" for view in lineage
    }
    assert {name for name in found if name.startswith("maps/")} == {
        f"maps/{name[4:]}.csv" for name in reads if name.startswith("map.")
    }
    assert {"splits/lydus.json", "splits/lydus.csv"} <= set(found)
    for view in lineage:
        assert found[f"sql/{view.schema}/{view.path.name}"] == view.path.read_bytes()
    labels = pl.read_parquet(io.BytesIO(found["labels.parquet"]))
    task = read_task(lydus_home, TASK)
    assert labels["instance_id"].to_list() == task.instances["instance_id"].to_list()
    assert json.loads(found["counts.json"]) == count(lydus_home, TASK).as_json()
    assert len(found["splits/lydus.csv"].splitlines()) == 301
    index = json.loads(found["index.json"])
    assert set(index["members"]) | {"index.json"} == set(found)
    assert found["LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_readme_says_what_a_stranger_needs(lydus_home, archive):
    found = members(archive)
    text = found["README.md"].decode()
    for name in found:
        assert f"`{name}`" in text or f"`{name.split('/')[0]}/`" in text or name == "README.md", name
    card = card_of("lydus")
    for words in (card["title"], card["licence"], card["citation"], card["source_url"], "leadhouse verify"):
        assert words in text
    for part, row in count(lydus_home, TASK).as_json()["parts"].items():
        cells = [row["records"], row["left_out"], row["scored"], *row["classes"].values()]
        assert f"| {part} | {' | '.join(map(str, cells))} |" in text
    assert "not the published split" in text
    for column in pl.read_parquet(io.BytesIO(found["labels.parquet"])).columns:
        assert f"| `{column}` |" in text
    assert "\n\n\n" not in text


def test_the_same_release_gives_the_same_bytes_in_another_place(tmp_path):
    archives, homes = [], []
    for name in ("one", "another place"):
        release = small_release(tmp_path / name / "release")
        home = Home(tmp_path / name / "data")
        load(home, release)
        materialize(home)
        archives.append(bundle(home, "vitaldb-arrhythmia-abnormal", tmp_path / f"{name}.zip"))
        homes.append(home)
    one, other = archives
    assert one.sha256 == other.sha256
    assert one.file.read_bytes() == other.file.read_bytes()
    elsewhere = verify_bundle(one.file, homes[1])
    assert (elsewhere["ok"], elsewhere["notes"]) == (True, [])
    for content in members(one.file).values():
        for word in (
            str(tmp_path),
            "/home/",
            "/root/",
            "/tmp/",
            str(ROOT),
            "Annotation_file",
            "clinical_data",
        ):
            assert word.encode() not in content, word


def test_no_signal_and_no_text_of_a_record_is_in_it(lydus_home, archive):
    said = {
        text
        for (text,) in _sql(lydus_home, "SELECT DISTINCT text FROM raw_lydus.dx_text WHERE length(text) > 12")
    }
    assert len(said) > 50
    content = b"".join(
        body for name, body in members(archive).items() if name.startswith(("splits/", "labels"))
    )
    assert not [text for text in said if text.encode() in content]
    assert not [name for name in members(archive) if "signal" in name or "raw" in name]


def _sql(home: Home, query: str) -> list[tuple]:
    from warehouse.query import connect

    return connect(home).execute(query).fetchall()


@pytest.mark.parametrize("name", datasets())
def test_every_card_says_whether_labels_may_be_shared(name):
    card = card_of(name)
    assert card["labels_may_be_shared"] is (card["licence"].split()[0] in {"CC", "ODC-By"})
    assert "NC" not in card["licence"]


def test_labels_are_withheld_where_the_card_does_not_let_them_out(lydus_home, tmp_path, monkeypatch):
    card = {name: value for name, value in card_of("lydus").items() if name != "labels_may_be_shared"}
    monkeypatch.setattr(stage, "card_of", lambda dataset: card)
    made = bundle(lydus_home, TASK, tmp_path)
    assert made.withheld
    assert made.withheld in made.as_text()
    found = members(made.file)
    assert not {"labels.parquet", "splits/lydus.csv"} & set(found)
    text = found["README.md"].decode()
    assert "Without labels" in text
    assert "Not in this archive" in text
    for home, note in ((None, "so not counted"), (lydus_home, "so not counted")):
        result = verify_bundle(made.file, home)
        assert result["ok"], result["broken"]
        assert any(note in each for each in result["notes"])
    ids = {row[0].encode() for row in _sql(lydus_home, "SELECT record_id FROM raw_lydus.record")}
    assert not [one for one in ids for body in found.values() if one in body]


def test_a_build_of_other_rules_is_refused(lydus_home, tmp_path, monkeypatch):
    rules = tmp_path / "sql"
    shutil.copytree(ROOT / "sql", rules)
    view = rules / "lydus" / "record_v0.sql"
    view.write_text(
        view.read_text().replace("coalesce(split.sampled, FALSE)", "coalesce(split.sampled, TRUE)")
    )
    monkeypatch.setattr(warehouse.views, "sql_root", lambda: rules)
    with pytest.raises(HomeError, match=r"task\.lydus_ecg_image_v0 built of other rules"):
        bundle(lydus_home, TASK, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_a_split_that_was_loaded_since_is_refused(tmp_path):
    home = Home(tmp_path / "data")
    load(home, small_release(tmp_path / "one"))
    materialize(home)
    load(home, small_release(tmp_path / "two", seed=7))
    with pytest.raises(HomeError, match="run materialize, then bundle again"):
        bundle(home, "vitaldb-arrhythmia-abnormal", tmp_path)


def test_only_a_bundle_is_written_over(lydus_home, tmp_path):
    mine = tmp_path / "notes.zip"
    mine.write_bytes(b"mine")
    with pytest.raises(UsageError, match="no bundle"):
        bundle(lydus_home, TASK, mine)
    with zipfile.ZipFile(mine, "w") as file:
        file.writestr("a.txt", "mine too")
    before = mine.read_bytes()
    with pytest.raises(UsageError, match="no bundle"):
        bundle(lydus_home, TASK, mine)
    assert mine.read_bytes() == before
    first = bundle(lydus_home, TASK, tmp_path)
    assert first.file == tmp_path / "lydus-ecg-image-v0.zip"
    assert bundle(lydus_home, TASK, tmp_path).sha256 == first.sha256
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lydus-ecg-image-v0.zip", "notes.zip"]


def test_a_folder_that_is_not_there_is_named(lydus_home, tmp_path):
    with pytest.raises(UsageError, match="found no folder"):
        bundle(lydus_home, TASK, tmp_path / "none" / "x.zip")
