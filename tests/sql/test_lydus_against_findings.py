"""The label views on the synthetic LYDUS release: each record gets the classes of the findings it was made of."""

from __future__ import annotations

import pytest

from warehouse import query
from warehouse.home import Home
from warehouse.load import lydus
from warehouse.materialize import materialize
from warehouse.spec import find_spec
from warehouse.synthetic import release_findings, write_lydus_release
from warehouse.synthetic.lydus_plan import BOTH, FLAT, SILENT
from warehouse.synthetic.lydus_words import lydus_words

RECORDS = 3000


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    place = tmp_path_factory.mktemp("lydus")
    write_lydus_release(place / "release", records=RECORDS, signals=False)
    home = Home(place / "data")
    lydus.load(home, place / "release")
    materialize(home)
    return home


def test_every_record_has_the_classes_of_its_findings(home):
    words = lydus_words()
    classes = list(find_spec("lydus-ecg-image@0").classes)
    listed = ", ".join(f'"{name}"' for name in classes)
    rows = query.select(home, f"SELECT record_id, {listed} FROM task.lydus_ecg_image_v0").fetchall()
    truth = release_findings(RECORDS)
    assert {row[0] for row in rows} == set(truth)
    wrong = {}
    for record_id, *values in rows:
        found = {name for name, value in zip(classes, values, strict=True) if value}
        expected = {
            name
            for each in truth[record_id]
            for name in words.text["classes"][words.index(each)].split(";")
            if name
        }
        if found != expected:
            wrong[record_id] = (sorted(found), sorted(expected), truth[record_id])
    assert wrong == {}


def test_records_without_an_analysis_are_left_out(home):
    ids = list(release_findings(RECORDS))
    rows = query.select(
        home, "SELECT record_id FROM task.lydus_ecg_image_v0 WHERE left_out IS NOT NULL ORDER BY record_id"
    ).fetchall()
    assert [row[0] for row in rows] == sorted([ids[SILENT], ids[BOTH]])


def test_at_least_98_percent_of_the_lines_are_mapped(home):
    unmapped = query.select(home, "SELECT coalesce(sum(lines), 0) FROM lydus.unmapped_line_v0").fetchone()[0]
    lines = query.select(home, "SELECT count(*) FROM raw_lydus.dx_line").fetchone()[0]
    assert 0 < unmapped < 0.02 * lines


def test_signals_tell_flat_records(tmp_path):
    write_lydus_release(tmp_path / "release", records=20)
    home = Home(tmp_path / "data")
    lydus.load(home, tmp_path / "release")
    materialize(home)
    ids = list(release_findings(20))
    rows = query.select(
        home, "SELECT record_id, left_out FROM task.lydus_ecg_image_v0 WHERE left_out IS NOT NULL"
    )
    left_out = dict(rows.fetchall())
    assert set(left_out) == {ids[SILENT], ids[FLAT], ids[BOTH]}
    assert "flat" in left_out[ids[FLAT]]
