"""Killed at any write, rename or sync, a load or a build leaves the one before whole, and the next run completes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from releases import small_release

from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import DATASET, load
from warehouse.manifest import read_manifest
from warehouse.materialize import materialize
from warehouse.project import sql_root
from warehouse.review.agreement import verdicts
from warehouse.review.verdicts import add, import_csv
from warehouse.task import read_task
from warehouse.views import Catalog

CHILD = Path(__file__).parents[1] / "crash_child.py"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A built home, another release, and rules in which a constant is another one."""
    place = tmp_path_factory.mktemp("crash")
    home = Home(place / "home")
    load(home, small_release(place / "first", seed=0))
    materialize(home)
    rules = place / "sql"
    shutil.copytree(sql_root(), rules)
    view = rules / "vitaldb" / "normal_context_v0.sql"
    text = view.read_text()
    assert "45 AS normal_context_s" in text
    view.write_text(text.replace("45 AS normal_context_s", "20 AS normal_context_s"))
    return place, home, small_release(place / "second", seed=1), rules


def deaths(verb: str, world, argument: Path, template: Home | None = None) -> list[dict]:
    """Let the verb die at each of its changes; the last entry is the run that lived."""
    place, home, _, _ = world
    home = template or home
    out = place / "deaths"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    done = subprocess.run(
        [sys.executable, str(CHILD), verb, str(home.path), str(out), str(argument), "1", "1000"],
        capture_output=True,
        text=True,
        cwd=CHILD.parents[1],
        env={**os.environ, "PYTHONPATH": str(CHILD.parents[1])},
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert runs[-1]["event"] is None
    return runs


def content(folder: Path) -> dict[str, str]:
    """Every file below a published folder by its digest."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def first_of_its_kind(run: dict, kinds: set[tuple]) -> bool:
    """Whether a death at this event, with this view in force after it, was not completed yet.

    What is on the disk is checked after every death; running the verb again after each would only repeat itself.
    """
    event = re.sub(r"[0-9a-f]{12}|-\d+/", "", run["event"] or "")
    kind = (event, str((Path(run["home"]) / "built").readlink()))
    fresh = kind not in kinds
    kinds.add(kind)
    return fresh


def assert_readable(home: Home) -> None:
    """Manifest and files agree, and the cached database answers."""
    for entry in read_manifest(home)["views"].values():
        data = (home.built / entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"]
    con = duckdb.connect(str(home.database), read_only=True)
    assert con.execute("SELECT count(*) FROM task.vitaldb_arrhythmia_abnormal").fetchone()[0] > 0
    con.close()


def test_materialize_killed_anywhere(world):
    _, home, _, rules = world
    runs = deaths("materialize", world, rules)
    events = " ".join(run["event"] or "" for run in runs)
    for kind in ("half written", "os.rename", "os.symlink", "os.link", "fsync", "manifest.json", "leadhouse"):
        assert kind in events, f"no death at {kind}: the test does not reach it"
    old, new = content(home.built), content(Home(Path(runs[-1]["home"])).built)
    assert old != new
    seen, kinds = set(), set()
    for run in runs:
        dead = Home(Path(run["home"]))
        now = content(dead.built)
        assert now in (old, new), f"a mixture after a death at {run['event']}"
        seen.add(now == new)
        assert_readable(dead)
        if not first_of_its_kind(run, kinds):
            shutil.rmtree(dead.path)
            continue
        materialize(dead, catalog=Catalog.read(rules))
        assert content(dead.built) == new, f"not completed after a death at {run['event']}"
        assert_readable(dead)
        folders = [path for path in dead.path.glob(".built.*") if not path.is_symlink()]
        assert len(folders) <= 2, f"left behind after a death at {run['event']}: {folders}"
        assert not list(dead.path.glob(".leadhouse.*.duckdb*"))
        shutil.rmtree(dead.path)
    assert seen == {False, True}


def test_load_killed_anywhere(world):
    _, home, second, _ = world
    runs = deaths("load", world, second)
    events = " ".join(run["event"] or "" for run in runs)
    for kind in ("half written", "os.rename", "os.symlink", "fsync", "_load.json"):
        assert kind in events, f"no death at {kind}: the test does not reach it"
    old, new = content(home.raw / DATASET), content(Home(Path(runs[-1]["home"])).raw / DATASET)
    assert old != new
    kinds: set[tuple] = set()
    for run in runs:
        dead = Home(Path(run["home"]))
        assert content(dead.raw / DATASET) in (old, new), f"a mixture after a death at {run['event']}"
        assert_readable(dead)
        if not first_of_its_kind(run, kinds):
            shutil.rmtree(dead.path)
            continue
        load(dead, second)
        assert content(dead.raw / DATASET) == new
        assert len(list(dead.raw.glob(f".{DATASET}.*"))) == 1
        shutil.rmtree(dead.path)


def test_review_killed_anywhere(world, tmp_path):
    """Verdicts are there as before or with all of the import; what was there before is never lost."""
    _, home, _, _ = world
    shutil.copytree(home.path, tmp_path / "home", symlinks=True)
    reviewed, task = Home(tmp_path / "home"), "vitaldb-arrhythmia-abnormal@0"
    ids = read_task(reviewed, task).instances.filter("scored")["instance_id"].to_list()
    add(reviewed, task, ids[0], "abnormal", False, "ann", day="2026-03-01")
    table = tmp_path / "verdicts.csv"
    lines = [f"{task},{name},abnormal,yes,bob,2026-03-02" for name in ids[:3]]
    table.write_text("\n".join(["task,instance_id,class,agree,reader,date", *lines]) + "\n")
    runs = deaths("review", world, table, reviewed)
    events = " ".join(run["event"] or "" for run in runs)
    for kind in ("os.rename", "os.symlink", "os.link", "fsync", "_load.json"):
        assert kind in events, f"no death at {kind}: the test does not reach it"
    seen = set()
    for run in runs:
        dead = Home(Path(run["home"]))
        now = [row[0] for row in verdicts(dead, task)]
        assert now in ([1], [1, 2, 3, 4]), f"a mixture after a death at {run['event']}"
        seen.add(len(now))
        import_csv(dead, table)
        assert [row[0] for row in verdicts(dead, task)] == [1, 2, 3, 4]
        assert len([path for path in dead.raw.glob(".review.*") if not path.is_symlink()]) <= 2
        shutil.rmtree(dead.path)
    assert seen == {1, 4}
