"""Parts of the beats: published counts, locked membership, nobody validates or tests what he was trained on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from warehouse.errors import RegistryError
from warehouse.home import Home
from warehouse.load import mitbih_split
from warehouse.load.mitbih_split import draw_beats
from warehouse.query import connect
from warehouse.splits import declaration

PUBLISHED = {"N": 18_118, "S": 556, "V": 1_448, "F": 162, "Q": 1_608}


@pytest.fixture(scope="module")
def con(mitdb_home: Home):
    return connect(mitdb_home)


def by_class(con, task: str, part: str) -> dict[str, int]:
    return dict(
        con.execute(f"""
            SELECT class, count(*) FROM task.{task} WHERE part = '{part}' AND scored AND left_out IS NULL GROUP BY class
        """).fetchall()
    )


def test_the_test_part_has_the_published_counts(con):
    assert by_class(con, "ecg_heartbeat_arrhythmia_v0", "test") == PUBLISHED
    train = by_class(con, "ecg_heartbeat_arrhythmia_v0", "train")
    validation = by_class(con, "ecg_heartbeat_arrhythmia_v0", "validation")
    published = {"N": 72_471, "S": 2_223, "V": 5_788, "F": 641, "Q": 6_431}
    assert {name: train[name] + validation[name] for name in train} == published


def test_the_split_places_every_beat_that_has_a_segment_once(con):
    rows = con.execute("""
        SELECT split.record_id IS NULL, segment.record_id IS NULL, count(*)
        FROM split.mitbih AS split
        FULL JOIN (SELECT * FROM mitbih.segment_published_v0 WHERE accepted) AS segment
            ON split.record_id = segment.record_id AND split.row_no = segment.row_no
        GROUP BY ALL
    """).fetchall()
    assert rows == [(False, False, 109_446)]


def test_the_balanced_test_part_is_balanced_and_inside_the_other(con):
    assert by_class(con, "ecg_heartbeat_balanced_v0", "test") == dict.fromkeys(PUBLISHED, 162)
    for part in ("train", "validation"):
        assert by_class(con, "ecg_heartbeat_balanced_v0", part) == by_class(
            con, "ecg_heartbeat_arrhythmia_v0", part
        )
    moved = con.execute("""
        SELECT count(*) FROM task.ecg_heartbeat_balanced_v0 AS one
        INNER JOIN task.ecg_heartbeat_arrhythmia_v0 AS other ON one.instance_id = other.instance_id
        WHERE one.part IS DISTINCT FROM other.part
    """).fetchone()
    assert moved == (0,)


def test_validation_of_the_interpatient_tasks_has_every_class_but_q(con):
    for version in (0, 1):
        found = by_class(con, f"ecg_heartbeat_interpatient_v{version}", "validation")
        assert set(found) == {"N", "S", "V", "F"}
        assert set(found) <= set(by_class(con, f"ecg_heartbeat_interpatient_v{version}", "train"))
    patients = con.execute("""
        SELECT DISTINCT group_id FROM task.ecg_heartbeat_interpatient_v1 WHERE part = 'validation' ORDER BY 1
    """).fetchall()
    assert patients == [("114",), ("124",), ("205",), ("223",)]


def annotations(n: int = 400) -> pa.Table:
    symbols = np.random.default_rng(1).choice(["N", "V", "F", "+"], n, p=[0.7, 0.15, 0.1, 0.05]).tolist()
    return pa.table(
        {
            "record_id": pa.array(["a"] * (n // 2) + ["b"] * (n - n // 2)).dictionary_encode(),
            "row_no": pa.array([*range(1, n // 2 + 1), *range(1, n - n // 2 + 1)], pa.int32()),
            "symbol": symbols,
        }
    )


def test_another_release_is_drawn_by_fractions():
    table = annotations()
    split = draw_beats(table, None)
    drawn = split.to_pylist()
    symbol = {
        (record, row): each
        for record, row, each in zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    }
    assert {row["row_no"] for row in drawn} <= set(range(1, 200)), (
        "the last annotation of a record has no segment"
    )
    for name in ("N", "V", "F"):
        mine = [row for row in drawn if symbol[row["record_id"], row["row_no"]] == name]
        tests = [row for row in mine if row["part"] == "test"]
        assert len(tests) == round(0.2 * len(mine))
        assert sum(row["part"] == "validation" for row in mine) == int(0.1 * len(mine))
        assert sorted(row["draw_no"] for row in mine) == list(range(len(mine)))
        assert max(row["draw_no"] for row in tests) == len(tests) - 1
    assert draw_beats(table, None).equals(split)


def test_a_draw_that_gives_another_membership_is_refused(monkeypatch, mitdb_home):
    import pyarrow.parquet as pq

    table = pq.read_table(mitdb_home.raw / "mitbih" / "annotation" / "annotation.parquet")
    declared = declaration("mitbih")
    release = declared["published"]["release"]
    assert draw_beats(table, release).num_rows == 109_446
    monkeypatch.setattr(mitbih_split, "declaration", lambda name: {**declared, "seed": declared["seed"] + 1})
    with pytest.raises(RegistryError, match="expected the locked"):
        draw_beats(table, release)
