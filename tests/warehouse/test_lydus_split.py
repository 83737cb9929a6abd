"""The split of `load lydus`: the published file by its digest, a seeded one without it, and the samples."""

from __future__ import annotations

import copy
import hashlib

import numpy as np
import pytest
from lydus_files import refused, row, table_of, write_table

from warehouse.errors import InputError, RegistryError, UsageError
from warehouse.home import Home
from warehouse.load import lydus
from warehouse.load.lydus_split import Split, draw_sample, draw_split, read_split
from warehouse.splits import declaration

DECLARED = declaration("lydus")
PUBLISHED = "new_id,group_id,part\na,g1,train\nb,g1,train\nc,g2,validation\nd,g3,test\n"
IDS = ["a", "b", "c", "d"]


def published(tmp_path, text: str = PUBLISHED):
    """A split file and a declaration that knows its digest."""
    path = tmp_path / "split.csv"
    path.write_text(text, encoding="utf-8")
    declared = copy.deepcopy(DECLARED)
    declared["published"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return path, declared


def test_declared_digest_is_the_specs():
    assert (
        DECLARED["published"]["sha256"] == "a7fddba5764a73d8c1c936296fa52909a822b797be321ec9448c7cc345ea3779"
    )
    assert sum(DECLARED["published"]["parts"].values()) == lydus.RELEASE_RECORDS
    assert "sha256" not in DECLARED


def test_another_file_is_refused(tmp_path):
    home = Home(tmp_path / "data")
    source = write_table(tmp_path / "source", [row(each) for each in IDS])
    lydus.load(home, source)
    path, _ = published(tmp_path)
    refused(
        home,
        source,
        "split.csv: found sha256",
        DECLARED["published"]["sha256"],
        "not saved again",
        split=path,
    )


def test_no_file(tmp_path):
    with pytest.raises(UsageError, match="found no file; expected the published split"):
        read_split(tmp_path / "nowhere.csv", IDS, DECLARED)


@pytest.mark.parametrize(
    "text",
    [
        PUBLISHED,
        "split,id,cluster\ntrain,b,g1\ntrain,a,g1\nval,c,g2\nTEST,d,g3\n",
        "x,y,z\ng3,d,test\ng2,c,valid\ng1,b,train\ng1,a,train\n",
    ],
    ids=["names", "other-names-and-words", "by-values"],
)
def test_columns_are_found_by_name_or_value(tmp_path, text):
    path, declared = published(tmp_path, text)
    split = read_split(path, IDS, declared)
    assert split.groups == ["g1", "g1", "g2", "g3"]
    assert split.parts == ["train", "train", "validation", "test"]
    assert split.is_published


def test_published_split_is_loaded(tmp_path, monkeypatch):
    path, declared = published(tmp_path)
    monkeypatch.setattr(lydus, "declaration", lambda name: declared)
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", [row(each) for each in IDS[::-1]]), split=path)
    assert table_of(home, "split") == [
        {"record_id": "a", "group_id": "g1", "part": "train", "sampled": True},
        {"record_id": "b", "group_id": "g1", "part": "train", "sampled": True},
        {"record_id": "c", "group_id": "g2", "part": "validation", "sampled": True},
        {"record_id": "d", "group_id": "g3", "part": "test", "sampled": True},
    ]
    assert report.release["is_specified"]
    assert any(note.startswith("split: the published split (sha256") for note in report.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PUBLISHED.replace("b,g1,train", "b,g1,test"), "row 3: found group 'g1' in test and train"),
        (PUBLISHED + "z,g9,test\n", "row 6: found record 'z'; expected a record of the release"),
        (PUBLISHED.replace("d,g3,test\n", ""), "found no row for record 'd'"),
        (PUBLISHED + "a,g1,train\n", "row 6: found record 'a' again; expected once (row 2)"),
        (PUBLISHED.replace("c,g2", "c,"), "row 4: found record 'c' without a group"),
    ],
    ids=["group-in-two-parts", "unknown-id", "missing-id", "id-twice", "no-group"],
)
def test_a_split_that_does_not_fit_is_refused(tmp_path, text, words):
    path, declared = published(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_split(path, IDS, declared)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text", ["new_id,part\na,train\n", "new_id,group_id,part\na,g,hold-out\n", "one,two,part\nx,y,train\n"]
)
def test_columns_that_cannot_be_told_apart(tmp_path, text):
    path, declared = published(tmp_path, text)
    with pytest.raises(InputError, match="cannot be told apart"):
        read_split(path, IDS, declared)


def test_drawn_by_patient_no_patient_in_two_parts():
    ids = [str(k) for k in range(1000)]
    patients = [f"p{k % 300}" for k in range(1000)]
    split = draw_split(ids, patients, DECLARED)
    parts: dict[str, set[str]] = {}
    for group, part in zip(split.groups, split.parts, strict=True):
        parts.setdefault(group, set()).add(part)
    assert all(len(each) == 1 for each in parts.values())
    sizes = [sum(each == {name} for each in parts.values()) for name in ("train", "validation", "test")]
    assert sizes == [210, 30, 60]
    assert "by patient" in split.rule
    assert not split.is_published


def test_drawn_by_record_without_patients_says_so(tmp_path):
    home = Home(tmp_path / "data")
    report = lydus.load(home, write_table(tmp_path / "source", [row(f"{k:03d}") for k in range(100)]))
    rows = table_of(home, "split")
    assert [each["group_id"] for each in rows] == [each["record_id"] for each in rows]
    assert [sum(each["part"] == part for each in rows) for part in ("train", "validation", "test")] == [
        70,
        10,
        20,
    ]
    assert any("by record: the release names no patients" in note for note in report.notes)
    assert not report.release["is_specified"]
    assert "not the published split" in report.as_text()


def test_draw_does_not_depend_on_the_order_of_rows():
    ids = [str(k) for k in range(500)]
    forward = dict(zip(ids, draw_split(ids, None, DECLARED).parts, strict=True))
    backward = dict(zip(ids[::-1], draw_split(ids[::-1], None, DECLARED).parts, strict=True))
    assert forward == backward


def test_a_record_without_a_patient_is_its_own_group():
    split = draw_split(["1", "2", "3"], ["2", None, "2"], DECLARED)
    assert split.groups == ["2", "record 2", "2"]


def toy(n: int, part: str = "test", seed: int = 0) -> Split:
    ids = [str(k) for k in np.random.default_rng(seed).permutation(n)]
    return Split(ids, ids, [part] * n, "toy", False)


@pytest.mark.parametrize(
    ("part", "stream", "size"), [("test", 0, 2000), ("train", 1, 16000), ("validation", 2, 2000)]
)
def test_sample_is_the_declared_draw_over_ids_sorted_as_text(part, stream, size):
    n = size + 777
    split = toy(n, part)
    sampled = draw_sample(split, DECLARED)
    ordered = sorted(str(k) for k in range(n))
    places = np.random.default_rng([20261030, stream]).choice(n, size, replace=False)
    expected = {ordered[place] for place in places}
    assert {each for each, drawn in zip(split.ids, sampled, strict=True) if drawn} == expected


def test_sample_does_not_depend_on_the_order_of_rows_nor_on_other_parts():
    one, two = toy(2500, seed=0), toy(2500, seed=1)
    both = Split(
        [*two.ids, *[f"t{k}" for k in range(17_000)]], [], ["test"] * 2500 + ["train"] * 17_000, "toy", False
    )
    drawn = [
        {each for each, yes in zip(split.ids, draw_sample(split, DECLARED), strict=False) if yes}
        for split in (one, two, both)
    ]
    assert drawn[0] == drawn[1] == {each for each in drawn[2] if not each.startswith("t")}
    assert len(drawn[2]) == 18_000


@pytest.mark.parametrize("n", [1, 1999, 2000])
def test_a_small_part_is_taken_whole(n):
    assert draw_sample(toy(n), DECLARED).all()


def test_order_and_draw_are_settings():
    sets = []
    for order, draw in (("text", "choice"), ("number", "choice"), ("text", "permutation")):
        declared = copy.deepcopy(DECLARED)
        declared["sample"] |= {"order": order, "draw": draw}
        split = toy(3000)
        sets.append(frozenset(np.array(split.ids)[draw_sample(split, declared)].tolist()))
    assert len(set(sets)) == 3
    assert {len(each) for each in sets} == {2000}


@pytest.mark.parametrize("setting", ["order", "draw"])
def test_unknown_settings_are_refused(setting):
    declared = copy.deepcopy(DECLARED)
    declared["sample"][setting] = "dice"
    with pytest.raises(RegistryError, match=f"found {setting} 'dice'"):
        draw_sample(toy(3000), declared)
