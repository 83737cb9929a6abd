import json
import math

import numpy as np
import polars as pl
import pytest
from toy import COUNTING, GOOD, TRUTH

from pipelines import runs
from pipelines.metrics import METRICS, binary_metrics
from pipelines.score import render_score, score_submission
from warehouse.errors import CheckFailed, InputError, RegistryError, UsageError

TASK = "toy-arrhythmia@0"


def test_the_numbers_are_those_of_the_rows_that_count(built, home, write):
    result = score_submission(home, TASK, write())
    expected = binary_metrics(np.array(TRUTH), np.array(GOOD))
    assert [*result["metrics"]] == list(METRICS)
    for name, point in expected.items():
        assert result["metrics"][name]["value"] == point.value
        assert result["metrics"][name]["n_defined"] + result["metrics"][name]["n_undefined"] == 200
    assert result["rows"] == {"used": 6, "positive": 3, "negative": 3, "ignored": {}}
    assert result["groups"] == {"by": "subjectid", "n": 3}
    assert result["bootstrap"] == {"n": 200, "seed": 20261029, "by": "subjectid"}
    assert result["spec"]["published_digest"] == "0123456789ab"
    shares = {row["name"]: (row["rows"], row["groups"], row["value"]) for row in result["by_rhythm"]}
    assert shares == {"red": (3, 2, 1.0), "blue": (1, 1, 1.0), "plain": (3, 2, 1 / 3)}
    assert json.loads(runs.dump(result)) == result


def test_notes_say_where_the_split_is_from_and_what_was_not_used(built, home, write, task):
    beyond = pl.when(pl.col("record_id") == 1).then(pl.lit("beyond")).otherwise(pl.lit("within"))
    instances = task.instances.with_columns(ecg=pl.lit("not checked"), clock=beyond)
    built.change(instances=instances, stale=("toy.segment_v0",))
    notes = score_submission(home, TASK, write(keys=[*COUNTING, "2_10"], scores=[*GOOD, "?"]))["notes"]
    assert any("published membership is not available" in note for note in notes)
    assert any("not checked for 6 of 6" in note for note in notes)
    assert any(note.startswith("2 rows are of records whose annotation clock") for note in notes)
    assert any("older than toy.segment_v0" in note for note in notes)
    assert any(note.endswith("1 left out") for note in notes)


def test_another_part_and_number_of_replicates(built, home, write):
    result = score_submission(
        home, TASK, write("instance_id,odd\n6_0,0.5\n"), part="validation", n_bootstrap=10
    )
    assert (result["part"], result["rows"]["used"], result["bootstrap"]["n"]) == ("validation", 1, 10)
    auprc = result["metrics"]["auprc"]
    assert auprc["value"] is None
    assert auprc["n_trivial"] == 10
    without = score_submission(home, TASK, write(), n_bootstrap=0)["metrics"]["auroc"]
    assert without["value"] is not None
    assert (without["lo"], without["n_defined"]) == (None, 0)
    with pytest.raises(UsageError, match="-1 bootstrap replicates"):
        score_submission(home, TASK, write(), n_bootstrap=-1)


def test_the_words_hold_the_numbers(built, home, write):
    result = score_submission(home, TASK, write(), against=write(scores=[0.5] * 6, name="flat.csv"))
    text = render_score(result)
    assert f"run {result['run']}" in text
    assert "6 rows (3 odd, 3 not) of 3 groups (subjectid)" in text
    metric = result["metrics"]["auroc"]
    assert any(
        line.split()[:3] == ["auroc", "(primary)", f"{metric['value']:.4f}"] for line in text.splitlines()
    )
    assert "blue, 1 / 1" in text
    assert f"difference from {result['against']['run']}" in text
    assert "+0.2778" in text


def test_what_is_undefined_is_said_in_words(built, home, write):
    one_class = score_submission(home, TASK, write("instance_id,odd\n6_0,0.5\n"), part="validation")
    text = render_score(one_class)
    assert "undefined: there are no negatives" in text
    assert "undefined by triviality" in text
    assert "nan" not in text.lower()


def test_a_comparison_is_paired(built, home, write):
    flat = write(scores=[0.5] * 6, name="flat.csv")
    result = score_submission(home, TASK, write(), against=flat)
    alone = score_submission(home, TASK, flat)
    assert result["against"]["run"] == alone["run"] != result["run"]
    for name, row in result["against"]["metrics"].items():
        assert row["first"] == result["metrics"][name]["value"]
        assert row["second"] == alone["metrics"][name]["value"]
        assert row["value"] == row["first"] - row["second"]
        assert row["lo"] <= row["hi"]
    by_run = score_submission(home, TASK, write(), against=alone["run"])
    assert by_run["against"]["metrics"] == result["against"]["metrics"]
    itself = score_submission(home, TASK, write(), against=write())["against"]["metrics"]
    assert all((row["value"], row["lo"], row["hi"]) == (0, 0, 0) for row in itself.values())


def test_a_difference_of_what_is_undefined_is_undefined(built, home, write):
    first, second = (write(f"instance_id,odd\n6_0,{s}\n", name=f"{s}.csv") for s in (0.5, 0.25))
    result = score_submission(home, TASK, first, part="validation", against=second)
    table = result["against"]["metrics"]
    assert (table["auroc"]["value"], table["auroc"]["lo"]) == (None, None)
    assert table["auroc"]["reason"] == result["metrics"]["auroc"]["reason"]
    assert table["brier"]["value"] == 0.25 - 0.5625
    assert "nan" not in render_score(result).lower()


def test_a_comparison_with_something_else_is_refused(built, home, write):
    with pytest.raises(UsageError, match="no file"):
        score_submission(home, TASK, write(), against="absent.csv")
    other = score_submission(home, TASK, write("instance_id,odd\n6_0,0.5\n"), part="validation")
    with pytest.raises(UsageError, match="part validation; expected toy-arrhythmia@0 part test"):
        score_submission(home, TASK, write(), against=other["run"])
    with pytest.raises(InputError, match=r"other\.csv: the submission is rejected"):
        score_submission(
            home, TASK, write(), against=write(keys=COUNTING[:5], scores=GOOD[:5], name="other.csv")
        )


def test_a_rejected_submission_leaves_nothing_behind(built, home, write):
    with pytest.raises(InputError):
        score_submission(home, TASK, write(scores=[math.nan, *GOOD[1:]]))
    assert not home.path.exists()


def test_a_home_that_cannot_be_written(built, home, write):
    home.path.write_text("a file where the folder should be")
    result = score_submission(home, TASK, write())
    assert result["run"] is None
    assert "expected a writable data home" in result["not_kept"]
    assert result["metrics"]["auroc"]["value"] == pytest.approx(7 / 9)
    assert "run (not kept); spec" in render_score(result)


def test_a_build_that_contradicts_itself_is_no_score(built, home, write, task):
    targets = task.targets.copy()
    targets[0] = np.nan
    built.change(targets=targets)
    with pytest.raises(CheckFailed, match="without a label: 1_0"):
        score_submission(home, TASK, write())


def test_kinds_and_rules_that_are_not_there_yet(built, home, write, task):
    built.change_spec(kind="regression")
    with pytest.raises(UsageError, match="kind regression; only binary, multiclass, multilabel tasks"):
        score_submission(home, TASK, write())
    built.change_spec(kind="binary", metrics=task.spec.data["metrics"] | {"missing_row": "no label"})
    with pytest.raises(RegistryError, match="missing_row"):
        score_submission(home, TASK, write())
