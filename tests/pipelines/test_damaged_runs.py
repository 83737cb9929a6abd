"""A damaged run record is a line marked broken and an error in words, whatever it holds."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest
from toy import GOOD

from pipelines import runs
from pipelines.leaderboard import leaderboard, render_leaderboard
from pipelines.score import score_submission
from pipelines.verify import verify_run
from warehouse.errors import CheckFailed, LeadhouseError

TASK = "toy-arrhythmia@0"
ODD = [None, 7, True, "text", "\ud800", [], {}, float("nan"), 10**400]


@pytest.fixture
def run(built, home, write) -> str:
    return score_submission(home, TASK, write(), name="hurt", n_bootstrap=2)["run"]


@pytest.fixture
def sound(built, home, write) -> str:
    return score_submission(home, TASK, write(scores=GOOD[::-1]), name="sound", n_bootstrap=2)["run"]


def survives(home, write):
    """Every stage ends well or with an error of ours, and the sound run keeps its line."""
    lines = leaderboard(home, TASK)
    text = render_leaderboard(lines)
    assert "sound, 2" in text
    json.dumps(lines, allow_nan=False)
    for stage in (
        lambda: verify_run(home, "hurt"),
        lambda: score_submission(home, TASK, write(), against="hurt", name="hurt", n_bootstrap=0),
    ):
        with contextlib.suppress(LeadhouseError):
            stage()
    return {line["run"]: line["broken"] for line in lines}


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))


def put(value, path, new):
    """`value` with `new` at `path`; with nothing there when `new` is ``put`` itself."""
    if not path:
        return new
    copy = dict(value)
    if len(path) == 1 and new is put:
        del copy[path[0]]
    else:
        copy[path[0]] = put(copy[path[0]], path[1:], new)
    return copy


def signed(record):
    """A forger who makes the hash fit."""
    if isinstance(record, dict) and "links" in record and "content" in record:
        try:
            return record | {"content": runs.content_hash(record["links"])}
        except ValueError:
            pass
    return record


def test_anything_anywhere_in_a_record(built, home, write, run, sound):
    path = home.runs / run / runs.RUN
    record = json.loads(path.read_text())
    for place in places(record):
        for new in [put, *ODD] if place else ODD:
            path.write_text(json.dumps(signed(put(record, place, new))))
            survives(home, write)


def test_anything_anywhere_in_a_score(built, home, write, run, sound):
    folder = home.runs / run
    record, score = (json.loads((folder / name).read_text()) for name in (runs.RUN, runs.SCORE))
    looked_at = [
        p for p in places(score) if p[:1] in ((), ("rows",), ("groups",)) or p[1:2] in ((), ("auroc",))
    ]
    for place in looked_at:
        for new in [put, None, True, "text", [], float("nan"), 10**400] if place else ODD:
            content = json.dumps(put(score, place, new)).encode()
            (folder / runs.SCORE).write_bytes(content)
            (folder / runs.RUN).write_text(
                json.dumps(put(record, ("files", runs.SCORE), runs.digest(content)))
            )
            survives(home, write)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b"7"])
@pytest.mark.parametrize("name", [runs.RUN, runs.SCORE])
def test_no_record_at_all(built, home, write, run, sound, name, content):
    (home.runs / run / name).write_bytes(content)
    assert survives(home, write)[run]


def test_predictions_that_are_none(built, home, write, run, sound):
    path = home.runs / run / runs.PREDICTIONS
    good = pl.read_parquet(path)
    record = json.loads((home.runs / run / runs.RUN).read_text())
    for odd in (
        good.with_columns(odd=pl.lit("text")),
        good.with_columns(odd=pl.lit(None, dtype=pl.Float64)),
        good.with_columns(odd=pl.lit([1.0])),
        good.drop("odd"),
        good.head(0),
    ):
        odd.write_parquet(path)
        assert not verify_run(home, run)["ok"]
        with pytest.raises(CheckFailed, match="not the one that was recorded"):
            score_submission(home, TASK, write(), against=run)
        known = put(record, ("files", runs.PREDICTIONS), runs.digest(path.read_bytes()))
        (home.runs / run / runs.RUN).write_text(json.dumps(known))
        assert not verify_run(home, run)["ok"]
        survives(home, write)


def test_what_the_attacker_did(built, home, write, run, sound):
    path = home.runs / run / runs.RUN
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"links": {}}))
    with pytest.raises(CheckFailed, match="links do not name a task"):
        score_submission(home, TASK, write(), against=run)
    path.write_text(json.dumps(record | {"made_by": "me"}))
    lines = leaderboard(home, TASK)
    assert [line["run"] for line in lines] == ["sound", "hurt"]
    assert "made_by is 'me'" in lines[1]["broken"]
    assert "broken" in render_leaderboard(lines)


def test_a_draft_of_a_killed_score_is_swept(built, home, write, run):
    draft = home.runs / ".hurt.0123456789ab"
    shutil.copytree(home.runs / run, draft)
    (home.runs / ".kept").mkdir()
    score_submission(home, TASK, write(scores=GOOD[::-1]), name="other")
    assert sorted(place.name for place in home.runs.iterdir()) == [".kept", "hurt", "other"]


def test_a_draft_that_is_being_written_is_not(built, home, write, run):
    """Another process holds the lock; ours waits for it."""
    script = f"""
import sys, time
from pathlib import Path
from pipelines.runs import _alone
from warehouse.home import Home
with _alone(Home(Path({str(home.path)!r}))):
    Path({str(home.runs / ".theirs.0123456789ab")!r}).mkdir()
    print("drafting", flush=True)
    time.sleep(60)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "drafting\n"
        ours = threading.Thread(
            target=score_submission,
            args=(home, TASK, write(scores=GOOD[::-1])),
            kwargs={"name": "other"},
            daemon=True,
        )
        ours.start()
        time.sleep(1)
        assert (home.runs / ".theirs.0123456789ab").exists()
        assert not (home.runs / "other").exists()
        child.send_signal(signal.SIGKILL)
        child.wait()
        ours.join(30)
        assert (home.runs / "other").exists()
        assert not (home.runs / ".theirs.0123456789ab").exists()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
