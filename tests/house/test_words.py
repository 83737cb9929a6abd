"""Label rules live in ``sql/`` and ``registry/`` alone: no Python outside ``tests/`` holds a word of theirs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_rooms import ROOT, python_files

from warehouse.maps import map_files, map_rows

ALLOWED = {
    ("cli.py", "N"): "the placeholder of a number in --first N",
    **{
        ("models/encoders/s4.py", name): "the name of a vector of the state-space layer"
        for name in ("B", "P", "Q")
    },
    ("pipelines/train/options.py", "S"): "the placeholder of a scale",
    (
        "warehouse/load/annotation_csv.py",
        "Start",
    ): "the grammar of the marker column; what markers mean, the views say",
    ("pipelines/folders.py", "F"): "the name of a measure",
    ("warehouse/images.py", "noise"): "a column of the table of images",
    ("warehouse/synthetic/lydus.py", "F"): "a sex",
    ("warehouse/synthetic/lydus_plan.py", "hypertrophy"): "an axis of registry/synthetic",
    ("warehouse/synthetic/lydus_words.py", "hypertrophy"): "an axis of registry/synthetic",
    ("warehouse/synthetic/vitaldb.py", "F"): "a sex",
    ("warehouse/synthetic/annotation_files.py", "premature"): "an event of registry/synthetic, not a reason",
    ("warehouse/synthetic/beats.py", "premature"): "an event of registry/synthetic, not a reason",
    ("warehouse/synthetic/rows.py", "gap"): "an event of registry/synthetic, not a reason",
}
"""(file, word) → why it is no label rule."""


GRAMMAR = {"filler", "reset", "negation", "age", "either", "or"}
"""Kinds of keys that are words of any English sentence (with, no, or): they name nothing."""


NAMES = {
    "heartbeat_lead": "leads",
    "mitbih_record": "records",
    "mitbih_reason": "reasons why a segment is not cut, for which `why` has words",
    "ptbdb_reason": "the same",
    "vitaldb_left_out": "columns that leave a segment out, for which `why` has words",
}
"""Maps whose keys are names of things, no words of a rule."""
COUNTS = set("aefjnrx")
"""Symbols that name numbers in any program (n, f)."""


def rule_words() -> set[str]:
    """Every key of every map (the first column), and today's names that old keys are translated to."""
    words = set()
    for name in map_files().keys() - NAMES.keys():
        for row in map_rows(name):
            if row.get("kind") not in GRAMMAR:
                words |= {next(iter(row.values())), *(row[column] for column in ("rhythm",) if column in row)}
    return {word for word in words if re.search(r"\w", word)} - COUNTS


def is_phrase(word: str) -> bool:
    """What is a rule's word inside a longer text too: four characters, ten where it is plain lower-case English."""
    return len(word) >= (10 if re.fullmatch("[a-z ]+", word) else 4)


def stands_in(phrase: str, text: str) -> bool:
    """As whole words."""
    return phrase in text and bool(re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text))


def literals(path: Path) -> list[tuple[int, str]]:
    """Line and text of every string in a file, f-string parts too, docstrings left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in statements
    ]


def found_words(root: Path, words: set[str]) -> list[tuple[str, int, str]]:
    """File, line and word: a literal that is a word, or that holds one among others."""
    phrases = sorted(filter(is_phrase, words))
    found = []
    for path in python_files(root):
        place = path.relative_to(root).as_posix()
        for line, text in literals(path):
            held = [text] if text in words else [phrase for phrase in phrases if stands_in(phrase, text)]
            found += [(place, line, word) for word in held]
    return found


def test_the_words_are_those_of_the_maps():
    words = rule_words()
    assert {
        "N",
        "V",
        "Start",
        "AFIB/AFL",
        "SR-mPVC-BT",
        "Patterned Atrial Ectopy",
        "premature",
        "gap",
    } <= words


def test_no_python_file_holds_a_label_rule():
    faults = [found for found in found_words(ROOT, rule_words()) if (found[0], found[2]) not in ALLOWED]
    assert faults == []


def test_every_exception_is_still_needed():
    assert set(ALLOWED) - {(place, word) for place, _, word in found_words(ROOT, rule_words())} == set()


@pytest.mark.parametrize(
    "line",
    [
        'if row["rhythm"] == "AFIB/AFL": pass',
        'BEATS = ("S", "V")',
        "query = f\"SELECT 1 WHERE rhythm = 'Patterned Atrial Ectopy' AND case_id = {1}\"",
        'reason = "short_run"',
        'marker = "Start"',
    ],
)
def test_a_rule_in_python_is_found(tmp_path, line):
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "a.py").write_text(f"{line}\n", encoding="utf-8")
    assert found_words(tmp_path, rule_words())


@pytest.mark.parametrize(
    "line", ['"""A docstring on AFIB/AFL."""', 'x = "Starting"', 'x = "NSV"', 'x = "noise_mv"']
)
def test_other_text_is_not(tmp_path, line):
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "a.py").write_text(f"{line}\n", encoding="utf-8")
    assert found_words(tmp_path, rule_words()) == []
