"""The VitalDB split: drawn, locked, and refused when it was edited."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest

from warehouse import splits
from warehouse.errors import RegistryError, UsageError
from warehouse.project import registry_path
from warehouse.spec import specs
from warehouse.splits import declaration, draw, membership_digest

LOCKED = "3c039be40325b6b907250f514b3b77b9f28e5619700fe8e9e77f5fd4e7e97d1e"


@pytest.fixture
def edited(monkeypatch):
    """A declaration to change; the draw then reads the changed one."""
    data = copy.deepcopy(declaration("vitaldb"))
    monkeypatch.setattr(splits, "declaration", lambda name: data)
    return data


def test_sizes_and_units():
    split = draw("vitaldb")
    assert Counter(split.parts) == {"train": 4_263, "validation": 609, "test": 1_218}
    assert split.units.tolist() == list(range(1, 6_091))


def test_membership_is_the_locked_one():
    split = draw("vitaldb")
    assert split.sha256 == declaration("vitaldb")["sha256"] == LOCKED


def test_sizes_are_the_floors_of_the_specification():
    for spec in specs():
        if spec.data["split"].get("name") == "vitaldb":
            declared = declaration("vitaldb")
            units = declared["units"]["last"] - declared["units"]["first"] + 1
            first, second, _ = spec.data["split"]["fractions"]
            cuts = [int(first * units + 1e-9), int((first + second) * units + 1e-9), units]
            assert list(declared["parts"].values()) == [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1]]
            assert declared["seed"] == spec.data["split"]["seed"] == 20261029


def test_the_draw_is_what_the_declaration_says():
    order = np.random.default_rng(20261029).permutation(np.arange(1, 6_091))
    split = draw("vitaldb")
    assert set(split.units[split.parts == "train"]) == set(order[:4_263])
    assert set(split.units[split.parts == "validation"]) == set(order[4_263:4_872])
    assert set(split.units[split.parts == "test"]) == set(order[4_872:])


def test_every_output_says_that_the_split_is_ours():
    assert "own draw" in declaration("vitaldb")["origin"]
    assert "published membership is not available" in declaration("vitaldb")["origin"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 20261030, "expected the locked 3c039be40325"),
        ("parts", {"train": 4_262, "validation": 610, "test": 1_218}, "expected the locked"),
        ("parts", {"test": 4_263, "validation": 609, "train": 1_218}, "expected the locked"),
        ("parts", {"train": 4_263, "validation": 609, "test": 1_217}, "sum to 6089, expected 6090"),
        ("units", {"first": 2, "last": 6_091}, "expected the locked"),
        ("sha256", "0" * 64, "expected the locked 000000000000"),
    ],
)
def test_an_edited_declaration_is_refused(edited, key, value, message):
    edited[key] = value
    with pytest.raises(RegistryError, match=message):
        draw("vitaldb")


def test_one_moved_subject_changes_the_digest():
    split = draw("vitaldb")
    parts = split.parts.copy()
    parts[0] = next(part for part in ("train", "test") if part != parts[0])
    assert membership_digest(split.units, parts) != LOCKED


def test_an_unknown_split_lists_those_that_are():
    with pytest.raises(UsageError, match=r"expected one of: .*vitaldb"):
        declaration("nobody")
    assert registry_path("splits", "vitaldb.json").exists()
