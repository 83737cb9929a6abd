"""Scores, runs, verification and the leaderboard of a multilabel task."""

import json
import time

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from toy_images import ASKED, CLASSES, IMAGES, SPEC, images

import cli
from pipelines import runs
from pipelines.baseline import write_baseline
from pipelines.bootstrap import draws, sorted_groups
from pipelines.challenge2024 import score_lists
from pipelines.folders import score_folders
from pipelines.label_measures import METRICS, NO_LABEL, measure
from pipelines.leaderboard import leaderboard, render_leaderboard
from pipelines.score import render_score, score_submission
from pipelines.verify import verify_run
from warehouse.errors import CheckFailed, InputError, RegistryError, UsageError
from warehouse.load.report import LoadReport, write_report
from warehouse.spec import find_spec

TASK = "toy-images@0"
TEXT = 'instance_id,labels\nd1,apple\nc2,apple\nb3,\na4,Plum\ne5,"apple, PEAR/FIG"\n'
"""apple TP 2 FP 1; Plum FN 2 and nothing on a4; PEAR/FIG TP 1; kiwi pie in no image of the part."""
BY_HAND = {"Plum": 0.0, "apple": 4 / 5, "kiwi pie": None, "PEAR/FIG": 1.0}
SORTED = ["PEAR/FIG", "Plum", "apple"]


@pytest.fixture
def task(tmp_path):
    return images(tmp_path)


@pytest.fixture
def file(tmp_path):
    def file(content: str = TEXT, name: str = "mine.csv"):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return file


def test_the_numbers_are_those_by_hand(built, home, file):
    found = score_submission(home, TASK, file())
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert list(metrics) == list(METRICS)
    assert metrics["macro_f_measure"] == np.mean([BY_HAND[name] for name in SORTED])
    assert (metrics["parse_rate"], metrics["error_rate"]) == (1.0, 0.0)
    assert metrics["mean_labels_predicted"] == 5 / 5
    assert found["rows"] == {
        "used": 4,
        "images": 5,
        "unparsed": 0,
        "unanswered": 0,
        "missing": 0,
        "ignored": {},
    }
    assert found["groups"] == {"by": "group", "n": 3}
    by_class = {row["name"]: row for row in found["by_class"]}
    assert list(by_class) == list(CLASSES)
    assert {name: row["f_measure"] for name, row in by_class.items()} == BY_HAND
    counts = {n: (row["n_positive"], row["n_predicted"], row["groups"]) for n, row in by_class.items()}
    assert counts == {"Plum": (2, 0, 2), "apple": (2, 3, 1), "kiwi pie": (0, 0, 0), "PEAR/FIG": (1, 1, 1)}
    assert "no class here" in by_class["kiwi pie"]["reason"]
    prior = np.mean([2 / 5, 4 / 6, 4 / 6])
    assert found["prior"]["value"] == prior
    assert found["headroom"]["value"] == (1 - metrics["macro_f_measure"]) / (1 - prior)
    assert json.loads(runs.dump(found)) == found


def test_the_words_hold_the_numbers(built, home, file):
    result = score_submission(home, TASK, file(), against=file(TEXT.replace("d1,apple", "d1,"), "other.csv"))
    text = render_score(result)
    lines = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith("  ")}
    assert "5 images (4 with a label) of 3 groups (group)" in text
    assert "0.6000" in lines["macro_f_measure (primary)"]
    assert "0.5778" in lines["prior: every class for every image"]
    assert "0.9474" in lines["headroom: (1 - F) / (1 - prior)"]
    assert "0.8000" in lines["apple, 2 / 3"]
    assert lines["kiwi pie, 0 / 0"].endswith("undefined: no image has it: it is no class here")
    assert "+0.1000" in text
    assert "keeps the classes of the whole reference" in text
    assert "nan" not in text.lower()


def test_nothing_predicted_is_undefined_not_zero(built, home, file):
    found = score_submission(home, TASK, file("instance_id,labels\na4,Plum\nd1,\n"))
    metric = found["metrics"]["macro_f_measure"]
    assert (metric["value"], metric["lo"], metric["n_undefined"]) == (None, None, 100)
    assert metric["reason"] == "no image with a label has a predicted one"
    assert found["headroom"]["value"] is None
    assert found["prior"]["value"] is not None
    assert {row["f_measure"] for row in found["by_class"]} == {None}
    assert found["metrics"]["mean_labels_predicted"]["value"] == 1 / 5
    assert leaderboard(home, TASK)[0]["reason"] == metric["reason"]
    assert verify_run(home, found["run"])["ok"]


def test_a_part_without_labels(built, home, file, task):
    built.change(instances=task.instances.with_columns(scored=pl.lit(False)))
    found = score_submission(home, TASK, file())
    assert found["metrics"]["macro_f_measure"]["reason"] == "there are no images with a label"
    assert found["prior"]["reason"] == "there are no images with a label"
    assert found["rows"]["used"] == 0


def test_a_perfect_prior_leaves_no_headroom(built, home, file, tmp_path):
    built.change(**vars(images(tmp_path, [("a", "g", "test", ", ".join(CLASSES), None)])))
    found = score_submission(home, TASK, file("instance_id,labels\na,apple\n"))
    assert (found["prior"]["value"], found["metrics"]["macro_f_measure"]["value"]) == (1.0, 0.25)
    assert (found["headroom"]["value"], found["headroom"]["reason"]) == (None, "the prior is perfect")


def test_a_missing_image_has_no_label_where_the_spec_says_so(built, home, file, task):
    part = file("instance_id,labels\nd1,apple\nc2,apple\n", "part.csv")
    found = score_submission(home, TASK, part)
    assert found["rows"]["missing"] == 3
    assert found["metrics"]["error_rate"]["value"] == 3 / 5
    assert found["metrics"]["parse_rate"]["value"] == 2 / 5
    assert {row["name"]: row["f_measure"] for row in found["by_class"]}["PEAR/FIG"] == 0.0
    whole = score_submission(home, TASK, file("instance_id,labels\nd1,apple\nc2,apple\nb3,\na4,\ne5,\n"))
    assert whole["metrics"]["macro_f_measure"] == found["metrics"]["macro_f_measure"]
    assert whole["run"] != found["run"]
    assert verify_run(home, found["run"])["ok"]
    stored = pl.read_parquet(home.runs / found["run"] / runs.PREDICTIONS)
    assert stored["answer_status"].to_list() == ["parsed", "parsed", "no row", "no row", "no row"]
    again = score_submission(home, TASK, part, against=found["run"])
    assert {row["value"] for row in again["against"]["metrics"].values()} == {0.0}

    built.change_spec(metrics=SPEC["metrics"] | {"missing_row": "error"})
    with pytest.raises(InputError, match=r"instances without a row \(3\): b3, a4, e5"):
        score_submission(home, TASK, part)
    built.change_spec(metrics=SPEC["metrics"] | {"missing_row": "guess"})
    with pytest.raises(RegistryError, match="missing_row 'guess'; expected 'error' or 'no label'"):
        score_submission(home, TASK, part)


def test_other_rows_are_ignored_and_counted(built, home, file):
    rows = "f6,nonsense\ng7,apple\nj0,Plum\n"
    found = score_submission(home, TASK, file(TEXT + rows))
    assert found["rows"]["ignored"] == {"left out": 1, "other part": 2}
    assert found["run"] == score_submission(home, TASK, file())["run"]


def test_the_first_by_id_and_the_prior_on_the_same(built, home, file, task):
    """a4 (without a label), b3, c2: ids as text, labelled or not."""
    found = score_submission(home, TASK, file(), first=3)
    assert found["first"] == 3
    assert (found["rows"]["images"], found["rows"]["used"]) == (3, 2)
    assert found["rows"]["ignored"] == {"not among the first 3": 2}
    f = {row["name"]: row["f_measure"] for row in found["by_class"]}
    assert f == {"Plum": 0.0, "apple": 1.0, "kiwi pie": None, "PEAR/FIG": None}
    assert found["prior"]["value"] == np.mean([1.0, 2 / 3])
    assert found["groups"]["n"] == 2
    assert "the first 3 by id: 3 images" in render_score(found)
    stored = pl.read_parquet(home.runs / found["run"] / runs.PREDICTIONS)
    assert stored["instance_id"].to_list() == ["c2", "b3", "a4"]
    assert runs.read_record(home.runs / found["run"])["links"]["first"] == 3
    assert verify_run(home, found["run"])["ok"]
    assert leaderboard(home, TASK) == []

    whole = score_submission(home, TASK, file())
    assert score_submission(home, TASK, file(), first=5)["run"] == whole["run"]
    assert score_submission(home, TASK, file(), first=500)["run"] == whole["run"]
    against = score_submission(
        home, TASK, file(TEXT.replace("b3,", "b3,Plum")), first=3, against=whole["run"]
    )
    assert against["against"]["metrics"]["macro_f_measure"]["second"] == 0.5
    with pytest.raises(UsageError, match="the first 0 instances"):
        score_submission(home, TASK, file(), first=0)


def test_the_prior_has_every_class_for_every_image(built, home, task):
    path = write_baseline(home, TASK, "prior")
    frame = pl.read_parquet(path)
    assert frame.columns == ["instance_id", *CLASSES]
    assert frame["instance_id"].to_list() == ["d1", "c2", "b3", "a4", "e5", "f6"]
    assert frame.drop("instance_id").to_numpy().all()
    found = score_submission(home, TASK, path)
    assert found["metrics"]["macro_f_measure"]["value"] == found["prior"]["value"]
    assert found["metrics"]["mean_labels_predicted"]["value"] == 4.0
    assert found["headroom"]["value"] == 1.0
    assert found["made_by"]["baseline"] == "prior"
    built.change(instances=task.instances.with_columns(part=pl.lit("test")))
    assert pl.read_parquet(write_baseline(home, TASK, "prior")).height == 10


def test_a_baseline_of_segments_is_refused(built, home):
    with pytest.raises(UsageError, match="found no segments; baseline rr-annotated"):
        write_baseline(home, TASK, "rr-annotated")


PUBLISHED = {
    "AFIB/AFL": 799,
    "Acute MI": 23,
    "BRADY": 120,
    "CD": 955,
    "HYP": 131,
    "NORM": 168,
    "Old MI": 159,
    "PAC": 58,
    "PVC": 158,
    "STTC": 683,
    "TACHY": 44,
}


def published_task(path, groups=1417, order=1):
    """2,000 images, 1,780 with a label, with the published number of each class."""
    rng = np.random.default_rng(0)
    held = [set() for _ in range(2000)]
    free = list(range(1780))
    for name, count in sorted(PUBLISHED.items(), key=lambda item: item[1]):
        first = free[: min(count, len(free))]
        free = free[len(first) :]
        rest = [n for n in range(1780) if name not in held[n] and n not in first]
        for n in [*first, *rng.choice(rest, count - len(first), replace=False)]:
            held[n].add(name)
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, 2000 - groups)])
    rows = [
        (f"{n:05x}", f"g{group[n]}", "test", ", ".join(sorted(held[n])), None) for n in rng.permutation(2000)
    ]
    return images(path, rows, list(PUBLISHED)[::order])


@pytest.mark.parametrize("order", [1, -1])
def test_the_published_prior(built, home, tmp_path, order):
    """The order of the spec's classes does not touch the last bit."""
    built.change(**vars(published_task(tmp_path, order=order)))
    found = score_submission(home, TASK, write_baseline(home, TASK, "prior"))
    assert {row["name"]: row["n_positive"] for row in found["by_class"]} == PUBLISHED
    assert (found["rows"]["images"], found["rows"]["used"], found["groups"]["n"]) == (2000, 1780, 1417)
    metric = found["metrics"]["macro_f_measure"]
    assert metric["value"] == found["prior"]["value"] == 0.25203743081171875
    assert round(metric["value"], 3) == 0.252
    assert metric["lo"] < metric["value"] < metric["hi"]


def test_the_registered_task_is_scored_as_published(built, home, tmp_path):
    """The registry's own spec: kind, classes, metrics, draws, what becomes of a missing image."""
    spec = find_spec("lydus-ecg-image@0")
    built.change(**vars(published_task(tmp_path)) | {"spec": spec, "classes": spec.classes})
    path = write_baseline(home, TASK, "prior")
    pl.read_parquet(path)[:-1].write_parquet(tmp_path / "less.parquet")
    found = score_submission(home, TASK, tmp_path / "less.parquet")
    assert found["prior"]["value"] == 0.25203743081171875
    assert round(found["prior"]["value"], 3) == spec.data["baselines"]["prior"]["macro_f_measure"]
    assert found["rows"]["missing"] == 1
    assert found["bootstrap"] == {"n": 1000, "seed": 20261030, "by": "group"}
    for part in ("n_positive", "f_measure"):
        assert part in spec.data["metrics"]["by_class"]
        assert part in found["by_class"][0]


def test_a_table_scores_as_its_folders_do(built, home, tmp_path):
    """The same labels once as a table and once as the Challenge's headers: the same bits."""
    task = published_task(tmp_path)
    built.change(**vars(task))
    rng = np.random.default_rng(2)
    named = np.where(rng.random((2000, 11)) < 0.2, 1 - task.targets, task.targets) * (
        rng.random((2000, 1)) < 0.9
    )
    lines = ["instance_id,labels"]
    for side in ("reference", "output"):
        (tmp_path / side).mkdir()
    for row, key in enumerate(task.instances["instance_id"]):
        for side, matrix in (("reference", task.targets), ("output", named)):
            text = ", ".join(task.classes[j] for j in np.flatnonzero(matrix[row]))
            (tmp_path / side / f"{key}.hea").write_text(f"{key} 0 500 5000\n# Labels: {text}\n")
        lines.append(f'{key},"{text}"')
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    folders = score_folders(tmp_path / "reference", tmp_path / "output").as_json()
    found = score_submission(home, TASK, tmp_path / "mine.csv", n_bootstrap=0)
    assert found["metrics"]["macro_f_measure"]["value"] == folders["macro_f"]
    assert {row["name"]: row["f_measure"] for row in found["by_class"]} == folders["classes"]


def slow(task, rows, predictions, n, seed):
    """Resamples written out record by record and scored as lists, the classes those of the whole."""
    labels = task.targets[rows] * task.instances["scored"].gather(rows).to_numpy()[:, None]
    names = [
        [[task.classes[j] for j in np.flatnonzero(row)] for row in side]
        for side in (labels, predictions[:, : len(task.classes)])
    ]
    classes = {name for record in names[0] for name in record}
    groups, index = sorted_groups(task.instances["group_id"].gather(rows).to_numpy())
    for drawn in draws(len(groups), n, seed):
        chosen = [image for group in drawn for image in np.flatnonzero(index == group)]
        every = [list(task.classes)] * len(chosen)
        reference = [names[0][image] for image in chosen]
        yield (
            score_lists(reference, [names[1][image] for image in chosen], classes),
            score_lists(reference, every, classes),
            predictions[chosen],
        )


@pytest.mark.parametrize(("count", "rate"), [(30, 0.05), (200, 0.2), (200, 0.7)])
def test_every_resample_equals_the_slow_loop(tmp_path, count, rate):
    rng = np.random.default_rng(count)
    names = [f"c{j:02d}" for j in rng.permutation(11)]
    rows = [
        (
            f"i{n}",
            f"g{rng.integers(count // 2)}",
            "test",
            ", ".join(n for n in names if rng.random() < 0.1),
            None,
        )
        for n in range(count)
    ]
    task = images(tmp_path, rows, names)
    everything = np.arange(count)
    predictions = np.column_stack([rng.random((count, 11)) < rate, rng.integers(0, 4, count)]).astype(float)
    predictions[predictions[:, -1] > 0, :-1] = 0
    labels = np.where(task.instances["scored"].to_numpy()[:, None], task.targets, NO_LABEL).astype(int)
    groups = task.instances["group_id"].to_numpy()
    made = measure(labels, predictions, groups, names, n=60, seed=3)
    undefined = 0
    for number, (expected, prior, chosen) in enumerate(slow(task, everything, predictions, 60, 3)):
        found = {name: values[number] for name, values in made.draws.items()}
        np.testing.assert_array_equal(found["macro_f_measure"], expected.macro)
        np.testing.assert_array_equal(found["prior"], prior.macro)
        for j, name in enumerate(names):
            np.testing.assert_array_equal(found["f"][j], expected.classes.get(name, np.nan))
        np.testing.assert_allclose(found["headroom"], (1 - expected.macro) / (1 - prior.macro), rtol=1e-15)
        assert found["parse_rate"] == (chosen[:, -1] == 0).mean()
        assert found["error_rate"] == (chosen[:, -1] >= 2).mean()
        assert found["mean_labels_predicted"] == chosen[:, :-1].sum(axis=1).mean()
        undefined += np.isnan(found["f"]).sum()
    assert (undefined > 0) == (count == 30)
    small = measure(labels, predictions, groups, names, n=60, seed=3, cells=7 * count)
    assert all(small.draws[name].tobytes() == made.draws[name].tobytes() for name in made.draws)


def test_a_class_without_a_positive_in_a_resample():
    """g1 holds the only b. Drawn without g1, b has F 0 where it is predicted, else it is left out of the mean."""
    labels = np.array([[0, 1], [1, 0], [1, 0]])
    groups = np.array(["g1", "g2", "g3"])
    seen = {}
    for predicted_b in (0, 1):
        predictions = np.array([[0, 1, 0], [1, predicted_b, 0], [1, predicted_b, 0]], dtype=float)
        made = measure(labels, predictions, groups, ("a", "b"), n=50, seed=1)
        drawn = np.array([np.bincount(d, minlength=3) for d in draws(3, 50, 1)])
        without = (drawn[:, 0] == 0).nonzero()[0]
        assert 0 < len(without) < 50
        seen[predicted_b] = {tuple(made.draws[name][without].tolist()) for name in ("macro_f_measure",)}
        assert np.isnan(made.draws["f"][without, 1]).all() == (predicted_b == 0)
    assert seen == {0: {(1.0,) * len(without)}, 1: {(0.5,) * len(without)}}


def test_ten_thousand_resamples_in_time(tmp_path):
    task = published_task(tmp_path)
    rng = np.random.default_rng(1)
    labels = np.where(task.instances["scored"].to_numpy()[:, None], task.targets, NO_LABEL).astype(int)
    predictions = np.column_stack([rng.random((2000, 11)) < 0.3, np.zeros(2000)]).astype(float)
    began = time.process_time()
    made = measure(
        labels, predictions, task.instances["group_id"].to_numpy(), task.classes, n=10_000, seed=20261030
    )
    assert time.process_time() - began < 5
    assert made.draws["f"].shape == (10_000, 11)


def test_intervals_are_by_record_where_each_is_its_group(built, home, file, task):
    built.change(instances=task.instances.with_columns(group_id=pl.col("record_id")))
    found = score_submission(home, TASK, file())
    assert found["groups"] == {"by": "record", "n": 5}
    assert found["bootstrap"]["by"] == "record"
    assert any("intervals are by record" in note for note in found["notes"])
    assert verify_run(home, found["run"])["ok"]


def test_a_difference_is_paired(built, home, file):
    better = TEXT.replace("b3,", "b3,Plum")
    found = score_submission(home, TASK, file(better), against=file(TEXT, "other.csv"))
    alone = score_submission(home, TASK, file(TEXT))
    assert found["against"]["run"] == alone["run"]
    row = found["against"]["metrics"]["macro_f_measure"]
    assert (row["first"], row["second"]) == (np.mean([1, 2 / 3, 4 / 5]), np.mean([1, 0, 4 / 5]))
    assert row["value"] == row["first"] - row["second"] > 0
    assert 0 <= row["lo"] <= row["hi"]
    by_run = score_submission(home, TASK, file(better), against=alone["run"])
    assert by_run["against"]["metrics"] == found["against"]["metrics"]


def test_leaderboard_and_marks(built, home, file, task):
    good = score_submission(home, TASK, file(TEXT.replace("b3,", "b3,Plum")))["run"]
    fair = score_submission(home, TASK, file(), name="fair")["run"]
    prior = score_submission(home, TASK, write_baseline(home, TASK, "prior"))["run"]
    lines = leaderboard(home, TASK)
    assert [line["run"] for line in lines] == [good, fair, prior]
    assert [line["stale"] for line in lines] == [None] * 3
    assert (lines[0]["metric"], lines[0]["rows"], lines[0]["groups"]) == ("macro_f_measure", 4, 3)
    assert "0.6000" in render_leaderboard(lines)
    targets = task.targets.copy()
    targets[2, 1] = 1
    built.change(targets=targets)
    assert {line["stale"] for line in leaderboard(home, TASK)} == {"changed since: labels"}
    assert verify_run(home, good)["broken"].startswith("labels: found ")


def test_what_verify_finds(built, home, file, task):
    run = score_submission(home, TASK, file())["run"]
    folder = home.runs / run
    assert verify_run(home, run)["ok"]

    path = folder / runs.PREDICTIONS
    kept = path.read_bytes()
    pl.read_parquet(path).with_columns(apple=True).write_parquet(path)
    found = verify_run(home, run)
    assert found["broken"].startswith("predictions.parquet: found ")
    assert found["links"][-1]["found"].startswith("metrics.macro_f_measure.value = ")
    path.write_bytes(kept)

    record = json.loads((folder / runs.RUN).read_text())
    score = json.loads((folder / runs.SCORE).read_text())
    score["by_class"][0]["n_positive"] += 1
    (folder / runs.SCORE).write_text(runs.dump(score))
    record["files"][runs.SCORE] = runs.digest((folder / runs.SCORE).read_bytes())
    (folder / runs.RUN).write_text(runs.dump(record))
    assert verify_run(home, run)["broken"].startswith("metrics: found by_class[0].n_positive = 2")


def test_whether_an_image_is_scored_is_part_of_its_label(built, home, file, task):
    run = score_submission(home, TASK, file())["run"]
    scored = pl.when(pl.col("instance_id") == "d1").then(False).otherwise(pl.col("scored"))
    built.change(instances=task.instances.with_columns(scored=scored))
    assert verify_run(home, run)["broken"].startswith("labels: found ")


@pytest.mark.parametrize("value", [np.nan, 0.0, 0.5])
def test_a_build_that_contradicts_itself_is_no_score(built, home, file, task, value):
    """A scored image with an unknown class, without any, or with half a one."""
    targets = task.targets.copy()
    targets[0] = value
    built.change(targets=targets)
    with pytest.raises(CheckFailed, match="scored instances without a label: d1"):
        score_submission(home, TASK, file())


def test_specs_that_cannot_be_followed(built, home, file):
    built.change_spec(metrics=SPEC["metrics"] | {"secondary": ["auroc"]})
    with pytest.raises(RegistryError, match="unknown metrics: auroc"):
        score_submission(home, TASK, file())
    built.change_spec(metrics=SPEC["metrics"], split={})
    with pytest.raises(RegistryError, match=r"expected metrics\.bootstrap\.seed, split\.seed or"):
        score_submission(home, TASK, file())
    built.change_spec(split={"sample": {"seed": 3}})
    assert score_submission(home, TASK, file())["bootstrap"]["seed"] == 3
    built.change_spec(metrics=SPEC["metrics"] | {"bootstrap": {"by": "group", "n": 5, "seed": 2}})
    assert score_submission(home, TASK, file())["bootstrap"] == {"n": 5, "seed": 2, "by": "group"}


def test_notes_say_which_split_was_loaded_and_what_was_not_checked(built, home, file, task):
    (home.raw / "fruit").mkdir(parents=True)
    release = {"split": "not the published split: drawn with seed 4, by record"}
    write_report(home.raw / "fruit", LoadReport("fruit", "fruit", release))
    flat = pl.when(pl.col("instance_id") == "d1").then(pl.lit("not checked")).otherwise(pl.lit("not flat"))
    built.change(instances=task.instances.with_columns(flat=flat, stem=pl.lit("not checked")))
    built.change_spec(dataset="fruit", split={"name": "lydus", "seed": 7})
    notes = score_submission(home, TASK, file())["notes"]
    assert "split lydus: not the published split: drawn with seed 4, by record" in notes
    assert "flat signal was not checked for 1 of 5 rows (no signal loaded)" in notes
    assert "stem was not checked for 5 of 5 rows (what it rests on is not loaded)" in notes


def test_the_commands(built, home, file):
    def run(*args, code=0):
        done = CliRunner().invoke(cli.main, [*map(str, args), "--data", str(home.path)])
        assert done.exit_code == code, done.output
        return done

    found = json.loads(run("score", TASK, file(), "--first", 3, "--json").stdout)
    assert (found["first"], found["rows"]["images"]) == (3, 3)
    assert "macro_f_measure (primary)" in run("score", TASK, file()).stdout
    assert "macro_f_measure" in run("leaderboard", TASK).stdout
    assert "every link holds" in run("verify", found["run"]).stdout
    run("score", TASK, file(), "--first", 0, code=2)
    run("score", TASK, file("instance_id,labels\nd1,pear\n"), code=1)


def test_the_toy_is_as_described(task):
    assert [row[0] for row in IMAGES if row[2] == "test" and row[4] is None] == ASKED
    assert sorted(CLASSES) != list(CLASSES)
