"""Awkward answers of language models, and the files they come in."""

import csv
import gzip
import json
import time

import polars as pl
import pytest
from toy_images import ASKED, CLASSES, SPEC, images

from pipelines import runs
from pipelines.prompts import Prompt
from pipelines.replies import PARSER, parse_answer
from pipelines.score import render_score, score_submission
from pipelines.verify import verify_run
from warehouse.errors import InputError

TASK = "toy-images@0"
UNPARSED = None
NONE = set()
BOTH = {"Plum", "apple"}

AWKWARD = {
    "plain": ('{"labels": ["apple", "Plum"]}', BOTH),
    "none": ('{"labels": []}', NONE),
    "fence": ('Sure!\n```json\n{"labels": ["apple", "Plum"]}\n```\nTake care.', BOTH),
    "fence without a language": ('```\n{\n  "labels": [\n    "apple"\n  ]\n}\n```', {"apple"}),
    "two objects": ('First {"labels": ["kiwi pie"]}, no: {"labels": ["apple"]}', {"apple"}),
    "two, the last without labels": ('{"labels": ["apple"]} {"note": ["Plum"]}', {"apple"}),
    "two, the last cut off": ('{"labels": ["apple"]} {"labels": ["Plum", "ki', {"apple"}),
    "two, the last empty": ('{"labels": ["apple"]}\n{"labels": []}', NONE),
    "inside an object": ('{"result": {"steps": [1, {"labels": ["apple"]}]}, "sure": true}', {"apple"}),
    "inside a list": ('[{"labels": ["Plum"]}, {"labels": ["apple"]}]', {"apple"}),
    "an object inside one that counts": ('{"labels": ["apple"], "not": {"labels": ["Plum"]}}', {"apple"}),
    "braces in a text": ('{"why": "a } and a { and \\"", "labels": ["apple"]}', {"apple"}),
    "braces before": ('The set {apple, {Plum}} it is. {"labels": ["Plum"]} }}}', {"Plum"}),
    "many open braces": ("{" * 5000 + '{"labels": ["apple"]}', {"apple"}),
    "deep": ('{"a":' * 20_000 + '{"labels": ["apple"]}', {"apple"}),
    "case": ('{"labels": ["APPLE", "pluM", "pear/fig"]}', {*BOTH, "PEAR/FIG"}),
    "spaces": ('{"labels": ["  apple ", "Kiwi \\u00a0 pie", "kiwi\\tpie"]}', {"apple", "kiwi pie"}),
    "escaped letters": ('{"labels": ["\\u0061pple", "\\ud83c\\udf4e", "\\ud800"]}', {"apple"}),
    "other letters": ('Ergebnis – größer als ½: {"labels": ["Äpfel", "apple"]} ✓', {"apple"}),
    "other names": ('{"labels": ["apple", "plums", "kiwi", "fig", ""]}', {"apple"}),
    "twice": ('{"labels": ["apple", "apple", "Apple"]}', {"apple"}),
    "nulls and numbers": ('{"labels": [null, 3, 1e999, true, ["Plum"], {"a": 1}, "apple"]}', {"apple"}),
    "a text": ('{"labels": "apple, PLUM"}', BOTH),
    "null": ('{"labels": null}', NONE),
    "the last of two keys": ('{"labels": ["Plum"], "labels": ["apple"]}', {"apple"}),
    "a number": ('{"labels": 2}', UNPARSED),
    "an object of flags": ('{"labels": ["Plum"]} {"labels": {"apple": true}}', {"Plum"}),
    "an object without keys": ('{} {"labels": ["apple"]} {}', {"apple"}),
    "line breaks": ('{\n\t"labels"\n:\n[\n"apple"\n]\n}', {"apple"}),
    "another key": ('{"Labels": ["apple"], "label": ["Plum"]}', UNPARSED),
    "empty": ("", UNPARSED),
    "prose": ("I see an apple and a plum. labels: apple", UNPARSED),
    "cut off": ('{"labels": ["apple", "Plum"', UNPARSED),
    "cut off in thought": ("Let me look at lead II. " * 2000 + '{"labels', UNPARSED),
    "single quotes": ("{'labels': ['apple']}", UNPARSED),
    "a comma too many": ('{"labels": ["apple",]}', UNPARSED),
    "curly quotes": ("{“labels”: [“apple”]}", UNPARSED),
    "no JSON number": ('{"labels": ["apple", NaN]}', UNPARSED),
    "a list alone": ('["apple", "Plum"]', UNPARSED),
    "escaped inside a text": ('{"text": "{\\"labels\\": [\\"apple\\"]}"}', UNPARSED),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_answers(name):
    answer, expected = AWKWARD[name]
    assert parse_answer(answer, CLASSES) == expected


def test_a_long_answer_takes_no_time():
    """Loops that a model can fall into, as long as 16,384 tokens and more."""
    loops = ('{"a": [', '{"labels": ["apple"], ', '{"a": "', "{", '{"labels": "', '{"a": 1} ', '{"labels":')
    began = time.process_time()
    for loop in loops:
        assert parse_answer((loop * 100_000)[:100_000], CLASSES) is None
    assert parse_answer('{"labels": []} ' * 7_000 + '{"labels": ["apple"]}', CLASSES) == {"apple"}
    assert time.process_time() - began < 10


@pytest.fixture
def task(tmp_path):
    return images(tmp_path)


ANSWERS = {
    "d1": 'An {"labels": ["apple"]}',
    "c2": '{"labels": ["APPLE", "cherry"]}',
    "b3": "I cannot see it.",
    "a4": '{"labels": ["Plum"]}',
    "e5": None,
}


@pytest.fixture
def jsonl(tmp_path):
    def jsonl(answers=ANSWERS, name="answers.jsonl", **more):
        rows = [{"instance_id": key, "answer": answer, **more} for key, answer in answers.items()]
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)) + "\n\n")
        return tmp_path / name

    return jsonl


def test_answers_are_scored_with_their_statuses(built, home, jsonl):
    found = score_submission(home, TASK, jsonl())
    metrics = {name: metric["value"] for name, metric in found["metrics"].items()}
    assert metrics == {
        "macro_f_measure": pytest.approx((0 + 0 + 1) / 3),
        "parse_rate": 3 / 5,
        "error_rate": 1 / 5,
        "mean_labels_predicted": 3 / 5,
    }
    rows = found["rows"]
    assert (rows["unparsed"], rows["unanswered"], rows["missing"]) == (1, 1, 0)
    assert any(
        "1 without an answer, 1 with an answer that holds no label object" in n for n in found["notes"]
    )
    stored = pl.read_parquet(home.runs / found["run"] / runs.PREDICTIONS)
    assert dict(stored.select("instance_id", "answer_status").iter_rows()) == {
        "d1": "parsed",
        "c2": "parsed",
        "b3": "unparsed",
        "a4": "parsed",
        "e5": "no answer",
    }
    assert verify_run(home, found["run"])["ok"]


def test_an_error_is_no_answer_and_a_blank_one_is_unparsed(built, home, tmp_path):
    rows = [
        ("d1", "", "timed out"),
        ("c2", "", ""),
        ("b3", '{"labels": ["Plum"]}', "late"),
        ("a4", "", "false"),
    ]
    path = tmp_path / "answers.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("instance_id", "answer", "error"), *rows])
    found = score_submission(home, TASK, path)["rows"]
    assert (found["unanswered"], found["unparsed"], found["missing"]) == (1, 2, 1)


def test_csv_answers_with_line_breaks_and_beyond_the_readers_limit(built, home, tmp_path, jsonl):
    thoughts = 'A thought, and "another";\r\n' * 10_000
    assert len(thoughts) > csv.field_size_limit() or csv.field_size_limit() > 131_072
    path = tmp_path / "answers.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["instance_id", "answer"])
        writer.writerows([key, thoughts + '{"labels": ["apple"]}'] for key in ASKED)
    every = {key: '{"labels": ["apple"]}' for key in ASKED}
    found = score_submission(home, TASK, path)
    assert found["metrics"]["parse_rate"]["value"] == 1.0
    assert found["metrics"] == score_submission(home, TASK, jsonl(every))["metrics"]
    packed = tmp_path / "answers.jsonl.gz"
    packed.write_bytes(gzip.compress(jsonl(every).read_bytes()))
    assert score_submission(home, TASK, packed)["run"] == score_submission(home, TASK, jsonl(every))["run"]


def test_prompt_parser_and_settings_stand_in_the_run_record(built, home, jsonl, monkeypatch):
    prompt = Prompt("fruit-v1", "Which fruit?", {"temperature": 0})
    monkeypatch.setattr("pipelines.score.find_prompt", lambda spec: prompt)
    settings = {"temperature": 0.7, "max_tokens": 9, "stop": None}
    path = jsonl(model="maker/model-3", prompt_id="fruit-v1", decoding=settings)
    found = score_submission(home, TASK, path)
    expected = {
        "parser": PARSER,
        "model": "maker/model-3",
        "prompt_id": "fruit-v1",
        "decoding": settings,
        "declared": {"prompt_id": "fruit-v1", "prompt_sha256": prompt.sha256, "decoding": {"temperature": 0}},
    }
    assert found["answers"] == expected
    assert runs.read_record(home.runs / found["run"])["links"]["answers"] == expected
    assert verify_run(home, found["run"])["ok"]
    assert not any("prompt" in note for note in found["notes"])

    silent = score_submission(home, TASK, jsonl())
    assert silent["run"] != found["run"]
    assert silent["answers"] == expected | {"model": None, "prompt_id": None, "decoding": None}
    assert "do not say by which prompt they were asked for (the task's is fruit-v1)" in render_score(silent)
    assert "do not say with which settings" in render_score(silent)
    other = score_submission(home, TASK, jsonl(prompt_id="mine", decoding="as the route has it"))
    assert "given to prompt mine; the task's is fruit-v1" in render_score(other)
    assert other["answers"]["decoding"] == "as the route has it"


def test_a_table_of_labels_has_no_answers(built, home, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("instance_id,labels\nd1,apple\n")
    found = score_submission(home, TASK, path)
    assert "answers" not in found
    assert "answers" not in runs.read_record(home.runs / found["run"])["links"]


def test_answers_of_two_models_are_two_files(built, home, tmp_path):
    rows = [{"instance_id": key, "answer": "", "model": f"m{n % 2}"} for n, key in enumerate(ASKED)]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"several values of model \(2\): m0, m1; expected one in all rows"):
        score_submission(home, TASK, path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"instance_id": "d1", "answer": "x"}\nno JSON\n', "row 2: found no JSON"),
        ('{"instance_id": "d1", "answer": "x"}\n["d1", "x"]\n', "row 2: found JSON that is no object"),
        ('{"instance_id": "d1", "answer": "x"', "row 1: found no JSON"),
        ('{"instance_id": "d1", "answer": "x"}\n{"instance_id": "d1", "answer": "y"}', "more than once"),
        ('{"instance_id": "zz", "answer": "x"}', r"unknown instances \(1\): zz"),
        ('{"id": "d1", "answer": "x"}', "no instance_id"),
        ("\n \n", "an empty file"),
        ("\ufeff{}", "without rows|no instance_id"),
    ],
)
def test_json_lines_that_cannot_be_read(built, home, tmp_path, content, message):
    path = tmp_path / "answers.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        score_submission(home, TASK, path)
    assert not home.path.exists()


def test_json_lines_keep_what_was_written(built, home, tmp_path):
    """Numbers as ids, labels as lists or as flags, an answer that is JSON already."""
    path = tmp_path / "mine.jsonl"

    def score(*rows):
        path.write_text("\r\n".join(map(json.dumps, rows)))
        found = score_submission(home, TASK, path)
        return {row["name"]: row["n_predicted"] for row in found["by_class"] if row["n_predicted"]}

    assert score({"instance_id": "d1", "labels": ["apple", "Plum"]}, {"instance_id": "c2", "labels": []}) == {
        "Plum": 1,
        "apple": 1,
    }
    flags = dict.fromkeys(CLASSES, False)
    assert score({"instance_id": "d1", **flags, "apple": True}, {"instance_id": "c2", **flags}) == {
        "apple": 1
    }
    assert score({"instance_id": "d1", "answer": {"labels": ["apple"]}}, {"instance_id": "c2"}) == {
        "apple": 1
    }
    built.change(instances=built.task.instances.with_columns(instance_id=pl.int_range(10).cast(pl.String)))
    assert score({"instance_id": 0, "labels": "apple"}, {"instance_id": 1, "labels": None}) == {"apple": 1}


def test_the_spec_says_how_answers_are_read():
    assert SPEC["kind"] == "multilabel"
    assert len(AWKWARD) >= 20
