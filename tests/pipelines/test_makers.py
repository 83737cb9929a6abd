"""Who made predictions: what a file says of itself is not believed."""

import os

import polars as pl
import pytest
from toy import COUNTING, GOOD

from pipelines.baseline import write_baseline
from pipelines.leaderboard import leaderboard, render_leaderboard
from pipelines.makers import NOTE, believed
from pipelines.score import render_score, score_submission
from warehouse.errors import UsageError

TASK = "toy-arrhythmia@0"


def says(tmp_path, name: str):
    """A file of one's own that says that a baseline wrote it."""
    path = tmp_path / "mine.parquet"
    pl.DataFrame({"instance_id": COUNTING, "odd": GOOD}).write_parquet(path, metadata={NOTE: name})
    return path


def test_a_file_that_calls_itself_a_baseline(built, home, tmp_path):
    result = score_submission(home, TASK, says(tmp_path, "rr-detected"))
    assert (result["made_by"]["baseline"], result["made_by"]["says"]) == (None, "rr-detected")
    assert (
        "note: mine.parquet says that it is baseline rr-detected; `baseline` did not write"
        in render_score(result)
    )
    (line,) = leaderboard(home, TASK)
    assert line["made_by"]["baseline"] is None
    assert "mine.parquet (which says it is baseline rr-detected), " in render_leaderboard([line])


def test_a_file_that_baseline_wrote_wherever_it_lies(built, home, tmp_path):
    path = write_baseline(home, TASK, "prior", out=tmp_path / "renamed.parquet")
    assert score_submission(home, TASK, path)["made_by"]["baseline"] == "prior"
    board = leaderboard(home, TASK)
    assert board[0]["made_by"]["baseline"] == "prior"
    assert "     prior, toy-arrhythmia-v0-" in render_leaderboard(board)
    pl.read_parquet(path).write_parquet(path, metadata={NOTE: "prior"}, compression="snappy")
    assert score_submission(home, TASK, path)["made_by"]["baseline"] is None


def test_a_digest_that_is_no_digest(home):
    for sha256 in (None, "", "../" * 22 + "ab", "a" * 64):
        assert believed(home, {"baseline": "prior", "sha256": sha256})["baseline"] is None


def test_a_reference_is_marked(built, home, tmp_path):
    result = score_submission(home, TASK, says(tmp_path, "rr-annotated"))
    remark = "reads annotated beats: a reference, no model of a signal"
    assert f"note: baseline rr-annotated {remark}" in render_score(result)
    board = leaderboard(home, TASK)
    assert board[0]["made_by"]["remark"] == remark
    assert remark in render_leaderboard(board)
    plain = score_submission(home, TASK, says(tmp_path, "prior"))
    assert plain["made_by"]["remark"] is None


def test_names_that_break_lines(built, home, write, tmp_path):
    keys = "instance_id,odd\n" + "".join(f"{k},{s}\n" for k, s in zip(COUNTING, GOOD, strict=True))
    path = write(keys, name="a\n  1.0000   best\x1b[31m\u202e.csv")
    bad = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.csv")
    with open(bad, "w") as file:  # noqa: PTH123
        file.write(keys.replace("0.9", "0.8"))
    score_submission(home, TASK, path)
    score_submission(home, TASK, bad)
    text = render_leaderboard(leaderboard(home, TASK))
    assert len(text.split("\n")) == 3
    assert "a\\n  1.0000   best\\x1b[31m\\u202e.csv" in text
    assert "\\udcff.csv" in text


def test_out_is_no_parquet_file(built, home, tmp_path):
    with pytest.raises(UsageError, match=r"found a folder; expected the name of a Parquet file"):
        write_baseline(home, TASK, "prior", out=tmp_path)
    with pytest.raises(UsageError, match=r"found the suffix '\.csv'"):
        write_baseline(home, TASK, "prior", out=tmp_path / "mine.csv")
    assert not (tmp_path / "mine.csv").exists()


def test_a_task_without_parts_asks_for_subjects(built, home, task):
    built.change(instances=task.instances.with_columns(part=pl.lit(None, dtype=pl.String)))
    with pytest.raises(UsageError, match=r"no instance that is in a part.*\n  next: .*--subjects CSV"):
        write_baseline(home, TASK, "prior")


def test_a_home_that_cannot_be_written_still_gives_a_file(built, home, tmp_path):
    home.path.write_text("a file where the folder should be")
    path = write_baseline(home, TASK, "prior", out=tmp_path / "mine.parquet")
    assert pl.read_parquet(path).height == 8
