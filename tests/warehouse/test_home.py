"""The data home on a disk that refuses: read-only, full, locked, a file in the way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from releases import small_release
from small_disk import fill, remount, tmpfs

from warehouse import home as home_module
from warehouse.counts import count
from warehouse.errors import HomeError
from warehouse.home import Home, generation, read_pinned
from warehouse.load.vitaldb_arrhythmia import DATASET, load
from warehouse.materialize import materialize
from warehouse.query import select

TASK = "vitaldb-arrhythmia-abnormal@0"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return small_release(tmp_path_factory.mktemp("release"))


def test_a_read_only_home_can_be_read_and_not_written(release, tmp_path):
    with tmpfs(tmp_path / "disk", "64m") as disk:
        home = Home(disk / "data")
        load(home, release)
        materialize(home)
        before = count(home, TASK).as_json()
        remount(disk, "ro")
        try:
            assert count(home, TASK).as_json() == before
            assert select(home, "SELECT count(*) FROM vitaldb.segment").fetchone()[0] > 0
            for write in (lambda: materialize(home), lambda: load(home, release)):
                with pytest.raises(
                    HomeError, match=r"(?s)cannot be written .*pass a writable --data DIR"
                ) as caught:
                    write()
                assert caught.value.exit_code == 2
        finally:
            remount(disk, "rw")


@pytest.mark.parametrize("verb", ["load", "materialize"])
@pytest.mark.parametrize("leave", [0, 20_000, 60_000])
def test_a_full_disk_costs_nothing_that_was_there(release, tmp_path, verb, leave):
    other = small_release(tmp_path / "other", cases=40, seconds=300, seed=5)
    with tmpfs(tmp_path / "disk", "24m") as disk:
        home = Home(disk / "data")
        load(home, release)
        materialize(home)
        before = count(home, TASK).as_json()
        if verb == "materialize":
            load(home, other)
        raw = (home.raw / DATASET / "_load.json").read_bytes()
        build = (home.built / "manifest.json").read_bytes()
        filler = fill(disk, leave)
        with pytest.raises(HomeError, match="no space left on the disk") as caught:
            load(home, other) if verb == "load" else materialize(home)
        assert caught.value.exit_code == 2
        assert count(home, TASK).as_json() == before
        assert (home.raw / DATASET / "_load.json").read_bytes() == raw
        assert (home.built / "manifest.json").read_bytes() == build
        filler.unlink()
        load(home, other)
        materialize(home)
        assert count(home, TASK).as_json() != before


def test_two_writers_at_once(release, tmp_path):
    home = Home(tmp_path / "data")
    load(home, release)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from warehouse.home import Home\n"
            "with Home.resolve(sys.argv[1]).writer('materialize'):\n"
            "    print('held', flush=True); time.sleep(60)",
            str(home.path),
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert holder.stdout.readline() == "held\n"
        for write in (lambda: materialize(home), lambda: load(home, release)):
            with pytest.raises(
                HomeError, match=rf"`materialize` \(process {holder.pid}\) is writing here"
            ) as caught:
                write()
            assert caught.value.exit_code == 2
    finally:
        holder.kill()
        holder.wait()
    materialize(home)  # a dead holder holds nothing
    assert count(home, TASK).as_json()["parts"]


def test_nothing_loaded(tmp_path):
    home = Home(tmp_path / "data")
    for act in (lambda: materialize(home), lambda: select(home, "SELECT 1")):
        with pytest.raises(HomeError, match="found no loaded data set"):
            act()
    with pytest.raises(HomeError, match="found no build of task"):
        count(home, TASK)
    assert not (tmp_path / "data" / "built").exists()


def test_a_file_in_the_way(release, tmp_path):
    (tmp_path / "data").write_text("not a folder")
    with pytest.raises(HomeError, match="a file is in the way"):
        load(Home(tmp_path / "data"), release)


def test_a_home_copied_with_its_links_resolved_still_works(release, tmp_path):
    home = Home(tmp_path / "data")
    load(home, release)
    materialize(home)
    copied = Home(tmp_path / "copy")
    shutil.copytree(
        home.path, copied.path, symlinks=False, ignore=shutil.ignore_patterns(".built.*", ".vitaldb*")
    )
    assert not copied.built.is_symlink()
    assert count(copied, TASK).as_json() == count(home, TASK).as_json()
    load(copied, release)
    assert materialize(copied).built == []
    assert (copied.raw / DATASET).is_symlink()


def test_a_generation_that_fails_leaves_no_trace(tmp_path):
    published = tmp_path / "built"
    with generation(published) as folder:
        (folder / "a").write_text("first")

    def fail() -> None:
        with generation(published) as folder:
            (folder / "a").write_text("second")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (published / "a").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["built", published.readlink().name])


def test_a_reader_whose_build_is_being_removed_begins_again(monkeypatch, tmp_path):
    """Half of its files are gone and the rest is not yet: the reader must not take that for damage."""
    home = Home(tmp_path)
    tries = []

    def publish(number: int) -> None:
        with generation(home.path / "built", keep=True) as folder:
            (folder / "number").write_text(str(number))
            (folder / "later").write_text(str(number))

    def halfway(folder: Path, **_: object) -> None:
        (Path(folder) / "later").unlink()

    def read(pinned: Home) -> str:
        tries.append(pinned)
        found = (pinned.built / "number").read_text()
        if len(tries) == 1:
            with monkeypatch.context() as patch:
                patch.setattr(home_module.shutil, "rmtree", halfway)
                for number in (2, 3):  # the build that is read is removed with the second
                    publish(number)
        return found + (pinned.built / "later").read_text()

    publish(1)
    assert read_pinned(home, read) == "33"
    assert len(tries) == 2
    publish(4)
    kept = {home.built.readlink().name, (tmp_path / ".built.previous").readlink().name}
    assert {path.name for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()} == kept


def test_a_reader_begins_again_when_a_data_set_is_loaded_meanwhile(tmp_path):
    home, seen = Home(tmp_path), []

    def publish(number: int) -> None:
        for published in (home.raw / "some", home.path / "built"):
            if number == 1 or published.parent == home.raw:
                with generation(published) as folder:
                    (folder / "number").write_text(str(number))

    def read(pinned: Home) -> str:
        folder = pinned.loaded("some")
        seen.append(folder)
        if len(seen) == 1:
            publish(2)
        return (folder / "number").read_text()

    publish(1)
    assert read_pinned(home, read) == "2"
    assert len(seen) == 2

    def fails(pinned: Home) -> str:
        seen.append(pinned.path)
        return (pinned.loaded("some") / "nowhere").read_text()

    with pytest.raises(FileNotFoundError):
        read_pinned(home, fails)
    assert len(seen) == 3  # nothing was loaded, so it is not tried again


def test_the_home_is_the_option_then_the_environment_then_data(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEADHOUSE_DATA", raising=False)
    assert Home.resolve().path == tmp_path / "data"
    monkeypatch.setenv("LEADHOUSE_DATA", "elsewhere")
    assert Home.resolve().path == tmp_path / "elsewhere"
    assert Home.resolve("here").path == tmp_path / "here"
