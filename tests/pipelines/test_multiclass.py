"""Scores of a multiclass task: the recipe's golden cases, files in both shapes, intervals, runs that verify."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from pipelines.baseline import write_baseline
from pipelines.bootstrap import draws, sorted_groups
from pipelines.class_measures import class_numbers, confusion_matrix, measure, of_confusion
from pipelines.score import render_score, score_submission
from pipelines.verify import verify_run
from warehouse.errors import CheckFailed, InputError, RegistryError
from warehouse.home import Home
from warehouse.spec import Spec
from warehouse.task import TaskData

CLASSES = ("pear", "Fig", "plum")
SPEC = {
    "slug": "toy-fruit",
    "version": 0,
    "kind": "multiclass",
    "classes": list(CLASSES),
    "split": {"seed": 7},
    "metrics": {
        "primary": "accuracy",
        "secondary": ["macro_precision", "macro_recall", "macro_f1"],
        "class_list": "fixed",
        "bootstrap": {"by": "tree", "n": 200},
        "missing_row": "error",
    },
}
# group, part, class
FRUIT = [
    ("a", "test", "pear"), ("a", "test", "pear"), ("a", "test", "Fig"), ("b", "test", "pear"), ("b", "test", "Fig"),
    ("c", "test", "plum"), ("d", "train", "pear"), ("d", "train", "Fig"), ("e", "train", "Fig"),
]  # fmt: skip
ANSWERS = ["pear", "Fig", "Fig", "pear", "Fig", "pear"]
"""pear: 2 of 3 right, 1 wrong; Fig: 2 of 2 right, 1 wrong; plum never named."""


@pytest.fixture
def task(tmp_path) -> TaskData:
    groups, parts, names = zip(*FRUIT, strict=True)
    instances = pl.DataFrame(
        {
            "instance_id": [f"f{n}" for n in range(len(FRUIT))],
            "record_id": [f"r{n}" for n in range(len(FRUIT))],
            "group_id": groups,
            "part": parts,
            "fold": pl.Series([None] * len(FRUIT), dtype=pl.Int64),
            "scored": [True] * len(FRUIT),
            "left_out": pl.Series([None] * len(FRUIT), dtype=pl.String),
        }
    )
    return TaskData(
        spec=Spec(SPEC["slug"], 0, SPEC, tmp_path / "toy.json"),
        instances=instances,
        targets=np.array([[float(name == each) for each in CLASSES] for name in names]),
        classes=CLASSES,
        fingerprint="d" * 64,
        inputs={"views": {}, "maps": {}, "splits": {}},
        stale=(),
    )


@pytest.fixture
def file(tmp_path):
    def file(content: str, name: str = "mine.csv") -> Path:
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return file


def labelled(answers=ANSWERS) -> str:
    return "instance_id,label\n" + "".join(f"f{n},{answer}\n" for n, answer in enumerate(answers))


def golden(shared: Path) -> list[dict]:
    return json.loads((shared / "golden" / "heartbeat" / "metrics_golden.json").read_text())["cases"]


def names_of(case: dict, which: str) -> list[str]:
    runs = case.get(f"{which}_runs")
    return case[which] if runs is None else [name for name, n in runs for _ in range(n)]


def test_every_golden_case(shared):
    classes = ("N", "S", "V", "F", "Q")
    lists = {
        "gold": "expected_gold_classes",
        "union": "expected_union_classes",
        "fixed": "expected_fixed_NSVFQ",
    }
    checked = 0
    for case in golden(shared):
        gold, predicted = (class_numbers(names_of(case, which), classes) for which in ("gold", "pred"))
        if not len(gold):
            with pytest.raises(InputError, match="nothing to score"):
                confusion_matrix(gold, predicted, 5)
            continue
        matrix = confusion_matrix(gold, predicted, 5)
        for class_list, key in lists.items():
            found, expected = of_confusion(matrix, class_list), case[key]
            for name in ("accuracy", "macro_precision", "macro_recall"):
                assert found[name] == pytest.approx(100 * expected[name], abs=1e-12), (
                    case["name"],
                    class_list,
                )
            for j, name in enumerate(classes):
                each = expected["per_class"].get(name)
                if each is not None:
                    tp = matrix[j, j]
                    assert (tp, matrix[:, j].sum() - tp, matrix[j].sum() - tp) == (
                        each["tp"],
                        each["fp"],
                        each["fn"],
                    )
                    assert found["precision"][j] == pytest.approx(100 * each["precision"], abs=1e-12)
                    assert found["recall"][j] == pytest.approx(100 * each["recall"], abs=1e-12)
        checked += 1
    assert checked == 6


def test_unequal_lengths_and_unknown_names_are_refused():
    with pytest.raises(InputError, match=r"found 2 for 3 labels; expected as many of both"):
        confusion_matrix(np.array([0, 1, 1]), np.array([0, 1]), 2)
    with pytest.raises(InputError, match=r"found 'apple'; expected one of pear, Fig, plum"):
        class_numbers(["pear", "apple"], CLASSES)
    with pytest.raises(RegistryError, match="class list"):
        of_confusion(np.eye(2, dtype=int), "some")


def test_the_numbers_are_those_by_hand(built, home, file):
    found = score_submission(home, "toy-fruit@0", file(labelled()))
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    precision, recall = [2 / 3, 2 / 3, 0], [2 / 3, 1, 0]
    f1 = [2 / 3, 4 / 5, 0]
    assert metrics == {
        "accuracy": pytest.approx(100 * 4 / 6),
        "macro_precision": pytest.approx(100 * np.mean(precision)),
        "macro_recall": pytest.approx(100 * np.mean(recall)),
        "macro_f1": pytest.approx(100 * np.mean(f1)),
    }
    assert found["confusion"] == [[2, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert [
        (row["name"], row["instances"], row["predicted"], row["groups"]) for row in found["by_class"]
    ] == [
        ("pear", 3, 3, 2),
        ("Fig", 2, 3, 2),
        ("plum", 1, 0, 1),
    ]
    assert [row["recall"]["value"] for row in found["by_class"]] == pytest.approx(
        [100 * each for each in recall]
    )
    assert found["unit"] == "percent"
    assert found["class_list"] == "fixed"
    assert found["class_lists"]["fixed"]["macro_recall"] == metrics["macro_recall"]
    text = render_score(found)
    assert "means over the declared classes" in text
    assert "accuracy (primary)" in text


def test_lists_of_classes_differ_where_one_is_never_met(built, home, file, task):
    names = np.array([each[2] for each in FRUIT])
    keep = (names != "plum").tolist()
    built.change(instances=task.instances.with_columns(scored=pl.Series(keep)))
    found = score_submission(
        home, "toy-fruit@0", file(labelled(["pear", "plum", "Fig", "pear", "Fig", "pear"]))
    )
    recall = {name: values["macro_recall"] for name, values in found["class_lists"].items()}
    assert recall == pytest.approx(
        {"fixed": 100 * (2 / 3 + 1) / 3, "union": 100 * (2 / 3 + 1) / 3, "gold": 100 * (2 / 3 + 1) / 2}
    )
    assert "over the classes that some instance has:" in render_score(found)


def test_the_greatest_number_names_the_class(built, home, file):
    rows = [(0.7, 0.2, 0.1), (0.3, 0.4, 0.3), (0, 1, 0), (0.5, 0.25, 0.25), (0.1, 0.8, 0.1), (0.6, 0.2, 0.2)]
    text = "instance_id,pear,Fig,plum\n" + "".join(
        f"f{n},{','.join(map(str, row))}\n" for n, row in enumerate(rows)
    )
    found = score_submission(home, "toy-fruit@0", file(text, "numbers.csv"))
    same = score_submission(home, "toy-fruit@0", file(labelled()))
    assert found["metrics"] == same["metrics"]
    assert found["rows"]["tied"] == 0


def test_a_tie_goes_to_the_first_class_and_is_said(built, home, file):
    rows = [(0.5, 0.5, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0.5, 0.5)]
    text = "instance_id,pear,Fig,plum\n" + "".join(
        f"f{n},{','.join(map(str, row))}\n" for n, row in enumerate(rows)
    )
    found = score_submission(home, "toy-fruit@0", file(text))
    assert found["confusion"][0] == [2, 1, 0]
    assert found["confusion"][2] == [0, 1, 0]
    assert found["rows"]["tied"] == 2
    assert any("2 instances have several greatest numbers" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instance_id,label,pear\nf0,pear,1\n", "either a column per class, or label"),
        ("instance_id,pear,Fig\nf0,1,0\n", "no column plum among"),
        ("instance_id,answer\nf0,pear\n", r"no column pear, Fig, plum \(nor label\)"),
        (labelled(["apple", *ANSWERS[1:]]), "rows with no class in label"),
        (labelled(["", *ANSWERS[1:]]), "f0 has nothing"),
        (labelled(ANSWERS[:-1]), "instances without a row"),
        (labelled().replace("f5", "f1"), "instances that come more than once"),
        (labelled() + "x9,pear\n", "rows of unknown instances"),
        ("instance_id,pear,Fig,plum\nf0,1.5,0,0\n", "rows with a score out of range in pear"),
        ("instance_id,pear,Fig,plum\nf0,nan,0,0\n", "rows with no number in pear"),
    ],
)
def test_a_submission_that_breaks_the_contract_is_refused(built, home, file, text, message):
    with pytest.raises(InputError, match=message):
        score_submission(home, "toy-fruit@0", file(text))


def test_a_label_that_is_two_classes_is_the_tasks_fault(built, home, file, task):
    targets = task.targets.copy()
    targets[0] = 1
    built.change(targets=targets)
    with pytest.raises(CheckFailed, match="scored instances without one class: f0"):
        score_submission(home, "toy-fruit@0", file(labelled()))


def test_intervals_are_those_of_a_slow_loop():
    rng = np.random.default_rng(5)
    gold, predicted = rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    groups = rng.integers(0, 12, 90)
    made = measure(gold, predicted, groups, 3, class_list="fixed", n=60, seed=3)
    names, _ = sorted_groups(groups)
    expected = {name: [] for name in ("accuracy", "macro_recall", "macro_precision", "macro_f1")}
    for drawn in draws(len(names), 60, 3):
        rows = np.concatenate([np.flatnonzero(groups == names[g]) for g in drawn])
        g, p = gold[rows], predicted[rows]
        recall, precision, f1 = [], [], []
        for c in range(3):
            tp, has, given = ((g == c) & (p == c)).sum(), (g == c).sum(), (p == c).sum()
            recall += [tp / has] if has else []
            precision += [tp / given] if given else [0.0] if has else []
            f1 += [2 * tp / (has + given)] if has + given else []
        expected["accuracy"].append(100 * (g == p).mean())
        expected["macro_recall"].append(100 * np.mean(recall))
        expected["macro_precision"].append(100 * np.mean(precision))
        expected["macro_f1"].append(100 * np.mean(f1))
    for name, values in expected.items():
        assert made.draws[name] == pytest.approx(values), name


def test_a_class_that_a_resample_did_not_draw_is_left_out_of_its_mean():
    gold, predicted, groups = np.array([0, 1]), np.array([0, 1]), np.array(["a", "b"])
    made = measure(gold, predicted, groups, 2, class_list="fixed", n=50, seed=1)
    assert set(made.draws["macro_recall"]) == {100.0}
    assert np.isnan(made.draws["recall"]).any()


def test_the_difference_of_two_submissions_is_paired(built, home, file):
    better = file(labelled([each[2] for each in FRUIT[:6]]), "better.csv")
    found = score_submission(home, "toy-fruit@0", better, against=file(labelled()))
    difference = found["against"]["metrics"]["accuracy"]
    assert difference["value"] == pytest.approx(100 * 2 / 6)
    assert (difference["first"], difference["second"]) == (100.0, pytest.approx(100 * 4 / 6))
    assert difference["lo"] >= 0


def test_a_run_verifies_and_a_changed_one_does_not(built, home, file):
    run = score_submission(home, "toy-fruit@0", file(labelled()), name="fruit")["run"]
    assert verify_run(home, run)["ok"]
    path = home.runs / run / "score.json"
    stored = json.loads(path.read_text())
    stored["metrics"]["accuracy"]["value"] = 99.0
    path.write_text(json.dumps(stored))
    assert not verify_run(home, run)["ok"]


def test_prior_is_the_most_frequent_class_of_train(built, home, task):
    path = write_baseline(home, "toy-fruit@0", "prior")
    frame = pl.read_parquet(path)
    assert frame.select(CLASSES).rows() == [(0.0, 1.0, 0.0)] * 6
    found = score_submission(home, "toy-fruit@0", path)
    assert found["made_by"]["baseline"] == "prior"
    assert found["metrics"]["accuracy"]["value"] == pytest.approx(100 * 2 / 6)


def test_always_n_on_the_real_test_part(mitdb_home, tmp_path):
    """Accuracy 82.76 %, macro recall 20 %, macro precision 16.55 %: what a score on that split must beat."""
    import shutil

    home = Home(tmp_path / "data")
    shutil.copytree(mitdb_home.path, home.path, symlinks=True)
    path = write_baseline(home, "ecg-heartbeat-arrhythmia", "prior")
    found = score_submission(home, "ecg-heartbeat-arrhythmia", path, n_bootstrap=50)
    values = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert values["accuracy"] == pytest.approx(100 * 18_118 / 21_892)
    assert values["macro_recall"] == pytest.approx(20)
    assert values["macro_precision"] == pytest.approx(20 * 18_118 / 21_892)
    assert found["groups"] == {"by": "patient", "n": 47}
    assert verify_run(home, found["run"])["ok"]


def test_a_file_without_keys_is_not_sent_for_columns_that_the_task_lacks(built, home, file):
    with pytest.raises(InputError, match="found no instance_id among the columns label"):
        score_submission(home, "toy-fruit@0", file("label\n" + "\n".join(ANSWERS) + "\n"))
