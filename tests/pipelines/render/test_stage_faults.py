"""Bad records and bad disks: each said in words, the rest drawn, exit 1 with a list."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path

import lydus_files
import numpy as np
import pytest
from click.testing import CliRunner
from filelock import FileLock
from rendering import EIGHT, TASK, contents, replace_signals, small_home
from small_disk import fill, remount, tmpfs

import cli
from pipelines.render.stage import render_task
from warehouse.errors import HomeError, InputError
from warehouse.home import Home
from warehouse.images import read_images
from warehouse.load.signal_counts import Scale
from warehouse.task import read_task

GOOD = Scale(EIGHT, 500, 4.88)


def ids(home: Home) -> dict[str, str]:
    """Record → instance."""
    return dict(read_task(home, TASK).instances.select("record_id", "instance_id").iter_rows())


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory) -> Home:
    """Record 500 is sound, 501 to 509 are not."""
    home = small_home(tmp_path_factory.mktemp("spoilt"), records=10)
    good = lydus_files.counts(1, seed=3)[0]
    loud = good.copy()
    loud[:2, 100] = (-32768, 32767)
    nothing = np.full_like(good, -32768)
    replace_signals(
        home,
        [
            ("500", good, GOOD),
            ("501", good, Scale(("I", "II", "V1", "V2", "V3", "V4", "V5", "X"), 500, 4.88)),
            ("502", good[:, :4000], GOOD),
            ("503", good[:, :2500], Scale(EIGHT, 250, 4.88)),
            ("504", loud, Scale(EIGHT, 500, 20.0)),
            ("505", nothing, Scale(EIGHT, 500, 4.88, missing=-32768)),
            ("506", np.zeros_like(good), GOOD),
            ("507", good[:, :100], Scale(EIGHT, 10, 4.88)),
            ("508", np.concatenate([good, good], axis=1), GOOD),
        ],
    )
    return home


FAULTS = {
    "501": ("without V6", "the twelve leads, or I, II and V1–V6"),
    "502": ("4,000 samples", "5,000: 10 s at 500 Hz"),
    "504": ("a value of 1,310.7 mV", "at most 327.67 mV: 16 bits at 10 µV a count"),
    "505": ("no value in any lead", "a signal"),
    "507": ("10 Hz", "20 to 20,000 Hz"),
    "508": ("10,000 samples", "5,000: 10 s at 500 Hz"),
    "509": ("no signal of its record", "one in the loaded release"),
}


def test_bad_records_are_listed_and_the_rest_is_drawn(spoilt, tmp_path):
    report = render_task(spoilt, TASK, workers=2, out=tmp_path / "images")
    instance = ids(spoilt)
    found = {failure.instance_id: failure for failure in report.failures}
    assert set(found) == {instance[record] for record in FAULTS}
    for record, (said, expected) in FAULTS.items():
        assert said in found[instance[record]].found
        assert expected in found[instance[record]].expected
    images = read_images(spoilt, TASK, tmp_path / "images")
    assert set(images.table["instance_id"]) == {instance[each] for each in ("500", "503", "506")}
    listed = {failure["instance_id"] for failure in images.manifest["failed"]}
    assert listed == set(found)
    assert sum(part["failed"] for part in images.manifest["parts"].values()) == len(FAULTS)
    assert not any(record in json.dumps(images.manifest["failed"]) for record in FAULTS), "no record's id"
    with pytest.raises(InputError) as caught:
        report.raise_for_failures()
    assert "7 of 10 images were not made; the rest is there" in str(caught.value)


def test_exit_1_and_a_list_on_the_command_line(spoilt, tmp_path):
    args = [
        "render",
        TASK,
        "--workers",
        "1",
        "--out",
        str(tmp_path / "x"),
        "--data",
        str(spoilt.path),
        "--json",
    ]
    result = CliRunner().invoke(cli.main, args)
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert (told["rendered"], len(told["failed"])) == (3, 7)
    assert "instance " in result.stderr
    assert "without V6" in result.stderr


def test_a_failure_stays_listed_until_the_record_is_drawn(spoilt, tmp_path):
    out = tmp_path / "images"
    first = sorted(ids(spoilt).values())[0]
    render_task(spoilt, TASK, workers=1, out=out)
    before = {each["instance_id"] for each in read_images(spoilt, TASK, out).manifest["failed"]}
    render_task(spoilt, TASK, workers=1, limit=1, out=out)
    assert {each["instance_id"] for each in read_images(spoilt, TASK, out).manifest["failed"]} == before
    assert first in before | set(read_images(spoilt, TASK, out).table["instance_id"])


def test_a_home_without_signals(tmp_path):
    release = lydus_files.write_table(tmp_path / "release", [lydus_files.row("500")])
    home = Home(tmp_path / "data")
    lydus_files.lydus.load(home, release)
    from warehouse.materialize import materialize

    materialize(home, ["task.lydus_ecg_image_v0"])
    with pytest.raises(HomeError, match="found no signal of the 1 instances asked for"):
        render_task(home, TASK, workers=1)


def test_a_damaged_file_of_signals(tmp_path):
    home = small_home(tmp_path, records=3)
    (file,) = (home.raw / "lydus" / "signal").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(HomeError, match="expected the signals that `load` wrote"):
        render_task(home, TASK, workers=1)


def test_a_full_disk_keeps_what_fits_lists_the_rest_and_goes_on_later(tmp_path):
    home = small_home(tmp_path, records=8)
    whole = tmp_path / "whole"
    render_task(home, TASK, workers=1, out=whole)
    with tmpfs(tmp_path / "disk", "9m") as disk:
        out = disk / "images"
        report = render_task(home, TASK, workers=2, out=out)
        assert report.stopped == "no space left on the disk"
        assert 0 < report.rendered < 8
        assert len(report.failures) == 8 - report.rendered
        images = read_images(home, TASK, out)
        assert images.table.height == report.rendered
        assert len(images.manifest["failed"]) == len(report.failures)
        with pytest.raises(InputError, match=r"no space left on the disk; \d of 8 images were not made"):
            report.raise_for_failures()
        remount(disk, "size=64m")
        report = render_task(home, TASK, workers=1, out=out)
        assert report.kept == images.table.height
        assert contents(out) == contents(whole)


def test_a_disk_that_is_full_from_the_begin(tmp_path):
    home = small_home(tmp_path, records=2)
    with tmpfs(tmp_path / "disk", "4m") as disk:
        fill(disk, 0)
        with pytest.raises(HomeError, match="no space left on the disk"):
            render_task(home, TASK, workers=1, out=disk / "images")


def test_a_folder_that_cannot_be_written(tmp_path):
    home = small_home(tmp_path, records=2)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(HomeError, match="a file is in the way"):
        render_task(home, TASK, workers=1, out=tmp_path / "file" / "images")
    with tmpfs(tmp_path / "disk", "9m") as disk:
        remount(disk, "ro")
        with pytest.raises(HomeError, match="it cannot be written"):
            render_task(home, TASK, workers=1, out=disk / "images")


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path):
    home = small_home(tmp_path, records=2)
    out = tmp_path / "images [2026] *"
    assert render_task(home, TASK, workers=1, out=out).rendered == 2
    assert render_task(home, TASK, workers=1, out=out).kept == 2
    assert read_images(home, TASK, out).table.height == 2


def test_what_is_in_the_way_of_one_image_costs_only_that(tmp_path):
    home = small_home(tmp_path, records=4)
    out = tmp_path / "images"
    whole = render_task(home, TASK, workers=1, out=out)
    first, second, *_ = files = read_images(home, TASK, out).table["file"].to_list()
    for file in files:
        (out / file).unlink()
    (out / first).mkdir()
    (out / second).parent.rmdir()
    (out / second).parent.write_text("a file")
    report = render_task(home, TASK, workers=1, out=out)
    assert (report.rendered, report.stopped) == (2, None)
    assert {failure.found for failure in report.failures} == {
        f"a folder in the way of {out / first}",
        f"a file in the way of {(out / second).parent}",
    }
    (out / first).rmdir()
    (out / second).parent.unlink()
    report = render_task(home, TASK, workers=1, out=out)
    assert (report.rendered, report.kept) == (2, 2)
    assert report.manifest["digest"] == whole.manifest["digest"]


def test_two_runs_in_one_folder(tmp_path):
    home = small_home(tmp_path, records=2)
    out = tmp_path / "images"
    out.mkdir()
    with FileLock(out / ".lock"), pytest.raises(HomeError, match="another `render` at work here"):
        render_task(home, TASK, workers=1, out=out)


def test_a_worker_that_dies_costs_nothing_that_was_drawn(tmp_path):
    """The system kills a worker that takes too much memory."""
    from multiprocessing.forkserver import _forkserver

    home = small_home(tmp_path, records=40)
    out = tmp_path / "images"

    def kill_a_worker() -> None:
        while not list(out.glob("*/*.jpg")):
            time.sleep(0.005)
        server = _forkserver._forkserver_pid
        (first, *_) = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        os.kill(int(first), signal.SIGKILL)

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    with pytest.raises(HomeError, match="a worker process died"):
        render_task(home, TASK, workers=2, out=out)
    killer.join()
    images = read_images(home, TASK, out)
    assert images.table.height < 40
    report = render_task(home, TASK, workers=1, limit=8, out=out)
    assert report.kept + report.rendered == 8
    assert all((out / file).is_file() for file in read_images(home, TASK, out).table["file"])


def test_a_damaged_manifest_is_said_by_render_and_stops_nobody_else(tmp_path):
    from warehouse.query import select

    home = small_home(tmp_path, records=1)
    render_task(home, TASK, workers=1)
    folder: Path = home.images / "lydus_ecg_image_v0"
    (folder / "manifest.json").write_text("{")
    assert select(home, "SELECT count(*) FROM task.lydus_ecg_image_v0").fetchall() == [(1,)]
    with pytest.raises(HomeError, match="found a damaged manifest"):
        render_task(home, TASK, workers=1)
    (folder / "manifest.json").unlink()
    assert render_task(home, TASK, workers=1).rendered == 1
