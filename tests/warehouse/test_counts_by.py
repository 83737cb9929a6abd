"""`counts --by` sex, age, device and rhythm: every group is there, and the groups add up to the whole."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from warehouse.counts import count
from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.query import select

VITAL, LYDUS, PTBXL = "vitaldb-arrhythmia-abnormal", "lydus-ecg-image", "cinc2024-ptbxl-image"
BEATS, MI = "ecg-heartbeat-arrhythmia", "ecg-heartbeat-mi@1"
BAND = re.compile(r"[0-8]?0-[0-8]?9|90\+")


@pytest.mark.parametrize(
    ("name", "task", "column"),
    [
        ("synthetic_home", VITAL, "sex"),
        ("synthetic_home", VITAL, "age"),
        ("synthetic_home", VITAL, "rhythm"),
        ("synthetic_home", VITAL, "asa"),
        ("lydus_home", LYDUS, "sex"),
        ("lydus_home", LYDUS, "age"),
        ("lydus_home", LYDUS, "rhythm"),
        ("ptbxl_home", PTBXL, "sex"),
        ("ptbxl_home", PTBXL, "age"),
        ("ptbxl_home", PTBXL, "device"),
        ("ptbxl_home", PTBXL, "rhythm"),
        ("heartbeat_home", BEATS, "rhythm"),
        ("heartbeat_home", BEATS, "sex"),
        ("heartbeat_home", MI, "age"),
        ("heartbeat_home", MI, "sex"),
    ],
)
def test_the_groups_add_up(request, name, task, column):
    home: Home = request.getfixturevalue(name)
    whole, groups = count(home, task).as_json()["parts"], count(home, task, column).as_json()["groups"]
    for part, total in whole.items():
        theirs = [group["parts"][part] for group in groups.values() if part in group["parts"]]
        for number in ("records", "left_out", "scored"):
            assert sum(each[number] for each in theirs) == total[number]
        for name_of, expected in total["classes"].items():
            assert sum(each["classes"][name_of] for each in theirs) == expected
    known = set(groups) - {"unknown"}
    if column == "age":
        assert known
        assert all(BAND.fullmatch(value) for value in known), known
    if column == "sex" and name != "heartbeat_home":
        assert known == {"female", "male"}


def test_devices_are_those_of_the_table(ptbxl_home: Home):
    """Against PTB-XL's own file, read anew."""
    groups = count(ptbxl_home, PTBXL, "device").as_json()["groups"]
    listed = "SELECT device, count(*) FROM raw_ptbxl.recording GROUP BY device"
    expected = {device or "unknown": rows for device, rows in select(ptbxl_home, listed).fetchall()}
    assert len(expected) > 3
    assert {
        value: sum(part["records"] + part["left_out"] for part in group["parts"].values())
        for value, group in groups.items()
    } == expected


def test_a_column_that_is_not_there_lists_those_that_are(synthetic_home: Home, heartbeat_home: Home):
    with pytest.raises(UsageError) as caught:
        count(synthetic_home, VITAL, "device")
    listed = str(caught.value).split("expected one of: ")[1].split(", ")
    assert len(listed) == len(set(listed))
    assert {"rhythms", "age", "sex", "department", "annotation_rows"} <= set(listed)
    with pytest.raises(UsageError, match="found no column 'device'"):
        count(heartbeat_home, BEATS, "device")


def test_numbers_stand_by_size(heartbeat_home: Home, lydus_home: Home):
    """And ids that only look like numbers do not."""
    places = [int(value) for value in count(heartbeat_home, BEATS, "row_no").as_json()["groups"]]
    assert places == sorted(places)
    assert len(str(places[-1])) > len(str(places[0]))
    ids = list(count(heartbeat_home, BEATS, "instance_id").as_json()["groups"])
    assert ids == sorted(ids)
    assert list(count(lydus_home, LYDUS, "bbb").as_json()["groups"])[-1] == "unknown"


def test_a_home_of_before_the_facts_says_what_it_lacks(ptbxl_home: Home, tmp_path):
    shutil.copytree(ptbxl_home.path, tmp_path / "home", symlinks=True)
    raw = tmp_path / "home" / "raw" / "ptbxl"
    report = json.loads((raw / "_load.json").read_text())
    del report["tables"]["recording"]
    (raw / "_load.json").write_text(json.dumps(report))
    home = Home(tmp_path / "home")
    found = count(home, PTBXL, "sex")
    assert any("raw_ptbxl.recording" in note for note in found.notes)
    assert not any("recording" in note for note in count(ptbxl_home, PTBXL, "sex").notes)
    with pytest.raises(UsageError, match=r"lacks raw_ptbxl\.recording"):
        count(home, PTBXL, "device")
