"""`render TASK`: the same bytes however it is run, nothing drawn twice, one kind of image a folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import cv2
import lydus_files
import numpy as np
import polars as pl
import pytest
from rendering import EIGHT, FOLDER, TASK, contents, small_home

from pipelines.render.draws import draw, seed_of
from pipelines.render.job import ImageSettings, settings_for
from pipelines.render.record import render_record
from pipelines.render.settings import PUBLISHED, PageSettings
from pipelines.render.stage import render_task
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.images import read_images
from warehouse.leads import complete
from warehouse.project import project_root
from warehouse.query import select
from warehouse.spec import find_spec
from warehouse.task import read_task


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    return small_home(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def whole(home: Home, tmp_path_factory) -> Path:
    """All images with their geometry, drawn in this process."""
    out = tmp_path_factory.mktemp("whole") / "images"
    report = render_task(home, TASK, workers=1, geometry=True, out=out)
    assert (report.rendered, report.kept, report.failures) == (6, 0, [])
    return out


def command(home: Home, *args: object) -> list[str]:
    words = ["render", TASK, "--data", home.path, *args]
    return [sys.executable, str(project_root() / "cli.py"), *map(str, words)]


def test_an_image_is_what_the_generator_draws_from_a_wfdb_record_of_one_microvolt_a_count(
    home, whole, tmp_path
):
    """Eight leads, completed and written as format 16, then drawn as one loose record with the instance's seed."""
    instances = read_task(home, TASK).instances
    vals = lydus_files.counts(6, seed=7)
    for number in (0, 4):
        (instance_id,) = instances.filter(pl.col("record_id") == f"{500 + number}")["instance_id"]
        mv = complete(dict(zip(EIGHT, vals[number] * 4.88 / 1000, strict=True)))
        lydus_files.write_wfdb(
            tmp_path, "loose", np.rint(np.array(list(mv.values())) * 1000).astype(np.int16), list(mv)
        )
        render_record(tmp_path / "loose", tmp_path / "loose.jpg", seed=seed_of(instance_id))
        file = whole / instance_id[:2] / f"{instance_id}.jpg"
        assert file.read_bytes() == (tmp_path / "loose.jpg").read_bytes()


def test_table_manifest_and_drawn_values(home, whole):
    images = read_images(home, TASK, whole)
    table, manifest = images.table, images.manifest
    assert table["instance_id"].to_list() == sorted(read_task(home, TASK).instances["instance_id"])
    for row in table.iter_rows(named=True):
        assert (whole / row["file"]).stat().st_size == row["bytes"]
        assert row["seed"] == seed_of(row["instance_id"])
        assert {name: row[name] for name in ("grey", "noise", "temperature", "crop")}.items() <= draw(
            row["seed"]
        ).as_dict().items()
        assert (
            cv2.imread(str(whole / row["file"])).shape == (row["height"], row["width"], 3) == (1700, 2200, 3)
        )
    assert manifest["is_published"]
    assert manifest["settings"] == settings_for(find_spec(TASK)).as_dict()
    assert sum(part["rendered"] for part in manifest["parts"].values()) == manifest["images"] == 6
    assert all(set(part["wfdb_gain"]) <= {"1"} for part in manifest["parts"].values())
    lines = [json.loads(line) for line in (whole / "render-params.jsonl").read_text().splitlines()]
    assert [line["noise"] for line in lines] == table["noise"].to_list()
    assert "opencv-python-headless" in manifest["versions"]


def test_the_settings_are_those_of_both_specs():
    for task in (TASK, "cinc2024-ptbxl-image@0"):
        declared = find_spec(task).data["input"]
        image, pinned = declared["image"], declared["render"]["settings"]
        settings = settings_for(find_spec(task))
        page, augment = settings.page, settings.augment
        assert settings == ImageSettings()
        assert (settings.format, settings.quality) == (image["stored_as"].lower(), image["quality"])
        assert (page.dpi, page.paper_mm_per_s, page.gain_mm_per_mv) == (
            image["dpi"],
            image["mm_per_s"],
            image["mm_per_mv"],
        )
        assert (page.layout, page.rhythm, page.palette) == ("3x4", (image["rhythm_strip"],), "5")
        assert (pinned["resolution_dpi"], str(pinned["standard_grid_color"])) == (page.dpi, page.palette)
        assert (augment.noise_max, augment.crop, augment.rotate_deg, augment.wrinkles) == (
            pinned["noise_max"],
            pinned["crop"],
            pinned["rotate_deg"],
            pinned["wrinkles"],
        )
        assert page == PUBLISHED
        assert settings.plain is not pinned["augment"]


def test_two_workers_and_four_pieces_write_the_same_bytes_as_one(home, whole, tmp_path):
    two = tmp_path / "two"
    render_task(home, TASK, workers=2, geometry=True, out=two)
    assert contents(two) == contents(whole)
    pieces = tmp_path / "pieces"
    for limit in (1, 3, 4, 6):
        report = render_task(home, TASK, workers=1, limit=limit, geometry=True, out=pieces)
    assert (report.rendered, report.kept) == (2, 4)
    assert contents(pieces) == contents(whole)


def test_only_the_part_that_is_asked_for(home, tmp_path):
    instances = read_task(home, TASK).instances
    part = instances["part"][0]
    report = render_task(home, TASK, part=part, workers=1, out=tmp_path / "part")
    assert report.asked == report.rendered == instances.filter(pl.col("part") == part).height
    with pytest.raises(UsageError, match="expected one of"):
        render_task(home, TASK, part="tset", out=tmp_path / "part")


def test_what_is_there_and_whole_is_kept_and_what_is_damaged_is_drawn_again(home, whole, tmp_path):
    out = tmp_path / "images"
    render_task(home, TASK, workers=1, geometry=True, out=out)
    files = [out / file for file in read_images(home, TASK, out).table["file"]]
    before = {file: file.stat().st_mtime_ns for file in files}
    files[0].write_bytes(b"\0" * files[0].stat().st_size)  # what a crash of the machine leaves
    files[1].write_bytes(files[1].read_bytes()[:1000])
    files[2].unlink()
    files[3].with_suffix(".json").write_text("{}")
    (out / files[4].parent.name / f".{files[4].name}.77.part").write_bytes(b"half")
    report = render_task(home, TASK, workers=1, geometry=True, out=out)
    assert (report.rendered, report.kept) == (4, 2)
    assert contents(out) == contents(whole)
    assert [file.stat().st_mtime_ns == before[file] for file in files[4:]] == [True, True]
    assert render_task(home, TASK, workers=1, geometry=True, out=out).kept == 6


def test_a_folder_holds_images_of_one_kind(home, whole):
    before = contents(whole)
    for settings, words in (
        (ImageSettings(plain=True), "plain false there, true asked"),
        (ImageSettings(quality=80), "quality 90 there, 80 asked"),
        (ImageSettings(page=PageSettings(dpi=100)), "page.dpi 200 there, 100 asked"),
    ):
        with pytest.raises(UsageError, match=words):
            render_task(home, TASK, settings, workers=1, out=whole)
    assert contents(whole) == before


def test_versions_that_drew_what_is_kept_stay_named(home, tmp_path, monkeypatch):
    from pipelines.render import outcome

    out = tmp_path / "images"
    render_task(home, TASK, workers=1, limit=1, out=out)
    assert read_images(home, TASK, out).manifest["earlier_versions"] == []
    before = outcome.versions()
    monkeypatch.setattr(outcome, "versions", lambda: before | {"numpy": "9.9"})
    report = render_task(home, TASK, workers=1, limit=2, out=out)
    assert report.manifest["versions"]["numpy"] == "9.9"
    assert report.manifest["earlier_versions"] == [before]
    assert "other versions of the libraries" in report.as_text()
    assert render_task(home, TASK, workers=1, limit=2, out=out).manifest["earlier_versions"] == [before]


def test_a_killed_first_run_keeps_its_settings(home, tmp_path):
    out = tmp_path / "images"
    out.mkdir()
    made_of = {"task": TASK, "settings": replace(ImageSettings(), quality=70).as_dict()}
    (out / ".journal.jsonl").write_text(json.dumps(made_of | {"signals": {}}) + '\n{"instance_id": "a')
    with pytest.raises(UsageError, match="quality 70 there, 90 asked"):
        render_task(home, TASK, workers=1, out=out)


def test_images_of_signals_that_were_loaded_before_are_not_mixed_with_new_ones(tmp_path):
    home = small_home(tmp_path, records=2)
    render_task(home, TASK, workers=1)
    small_home(tmp_path, records=2, vals=lydus_files.counts(2, seed=8))
    with pytest.raises(UsageError, match=r"other signals \(raw_lydus.signal was loaded again since\)"):
        render_task(home, TASK, workers=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_and_resumed_gives_the_same_folder(home, whole, tmp_path, workers):
    out = tmp_path / "images"
    child = subprocess.Popen(
        command(home, "--out", out, "--geometry", "--workers", workers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(lambda: list(out.glob("*/*.jpg")), child)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert not (out / "manifest.json").exists()
    with pytest.raises(HomeError, match="found no rendered images"):
        read_images(home, TASK, out)
    report = render_task(home, TASK, workers=1, geometry=True, out=out)
    assert report.rendered + report.kept == 6
    assert contents(out) == contents(whole)


def test_ctrl_c_ends_cleanly_and_the_next_run_goes_on(tmp_path):
    home = small_home(tmp_path, records=24)
    out = tmp_path / "images"
    child = subprocess.Popen(
        command(home, "--out", out, "--workers", 2),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    journal = out / ".journal.jsonl"
    wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1, child)
    os.killpg(child.pid, signal.SIGINT)
    said, heard = child.communicate(timeout=60)
    assert (child.returncode, said, heard.strip()) == (1, "", "Aborted!")
    images = read_images(home, TASK, out)
    assert 0 < images.table.height < 24
    assert not list(out.glob("*/.*.part"))
    report = render_task(home, TASK, workers=1, out=out)
    assert (report.kept, report.rendered) == (images.table.height, 24 - images.table.height)


def wait_for(ready, child: subprocess.Popen, seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert child.poll() is None, "the run ended before it was stopped"
        assert time.monotonic() < end
        time.sleep(0.005)


def test_images_have_a_table_in_sql(tmp_path):
    home = small_home(tmp_path, records=2)
    with pytest.raises(UsageError, match=f"image.{FOLDER}|image"):
        select(home, f"SELECT * FROM image.{FOLDER}").fetchall()
    render_task(home, TASK, workers=1)
    table = read_images(home, TASK).table
    found = select(home, f"SELECT instance_id, sha256 FROM image.{FOLDER} ORDER BY ALL").fetchall()
    assert found == table.select("instance_id", "sha256").rows()


def test_a_task_without_images_is_refused(home, tmp_path):
    with pytest.raises(UsageError, match="a task without images"):
        render_task(home, "vitaldb-arrhythmia-abnormal", out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_files_say_nothing_but_the_image(home, whole):
    """No EXIF, comment or name in the file: of JPEG segments only those that decode it, in PNG only pixels."""
    records = read_task(home, TASK).instances["record_id"].to_list()
    for path in whole.glob("*/*.jpg"):
        data = path.read_bytes()
        assert set(segments(data)) <= {0xD8, 0xE0, 0xDB, 0xC0, 0xC4, 0xDA}
        assert not any(record.encode() in data[:700] for record in records)
        assert not any(record in str(path.relative_to(whole)) for record in records)
    for path in whole.glob("*/*.json"):
        assert not {"record", "record_id", "dx", "age", "sex"} & set(json.loads(path.read_text()))


def segments(data: bytes) -> list[int]:
    """The markers of a JPEG up to its pixels."""
    found, at = [data[1]], 2
    while found[-1] != 0xDA:
        assert data[at] == 0xFF
        found.append(data[at + 1])
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return found


def test_png_and_plain(home, tmp_path):
    out = tmp_path / "plain"
    render_task(home, TASK, ImageSettings(plain=True, format="png"), workers=1, limit=1, out=out)
    images = read_images(home, TASK, out)
    (row,) = images.table.iter_rows(named=True)
    assert row["noise"] is None
    assert row["temperature"] is None
    assert not images.manifest["is_published"]
    pixels = cv2.imread(str(images.path(row["file"])))
    assert (pixels[5:400, 5:].mean(axis=(0, 1)) > 220).all(), "the upper band is white paper with a grid"
    kinds = [name for name, _ in chunks(images.path(row["file"]).read_bytes())]
    assert set(kinds) <= {b"IHDR", b"IDAT", b"IEND"}


def chunks(data: bytes):
    at = 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], size
        at += 12 + size
