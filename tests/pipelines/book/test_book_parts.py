"""Parts of the book: pictures of graphs, SQL in colour, versions beside each other, strips, blocks of prose."""

from __future__ import annotations

import html
import re
from itertools import combinations

import numpy as np
import pytest

from pipelines.book import graph
from pipelines.book.highlight import highlight
from pipelines.book.prose import blocks
from pipelines.book.twelve import COLUMN_S, LEFT, ROWS, STEP, TOP, lay_out
from pipelines.book.versions import flips_query
from pipelines.paper import MM_PER_S
from warehouse.leads import LEADS
from warehouse.query import connect
from warehouse.spec import find_spec
from warehouse.views import Catalog

TASK = "vitaldb-arrhythmia-abnormal@0"


def test_arrows_go_right_and_boxes_stand_apart():
    catalog = Catalog.read()
    for task in (TASK, "lydus-ecg-image@0"):
        parents = {view.name: view.reads for view in catalog.lineage([find_spec(task).view])}
        names = set(parents).union(*parents.values())
        picture = graph.draw(parents, {name: name for name in names})
        boxes = {box.name: box for box in picture.boxes}
        assert set(boxes) == names
        assert {(parent, child) for parent, child, _ in picture.arrows} == {
            (parent, child) for child, reads in parents.items() for parent in reads
        }
        for parent, child, _ in picture.arrows:
            assert boxes[parent].x + boxes[parent].width < boxes[child].x
        for one, other in combinations(picture.boxes, 2):
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert apart or one.y + one.height < other.y or other.y + other.height < one.y
        for box in picture.boxes:
            assert box.x >= 0
            assert box.x + box.width <= picture.width
            assert box.y >= 0
            assert box.y + box.height <= picture.height
        backwards = dict(reversed([(name, tuple(reversed(reads))) for name, reads in parents.items()]))
        assert graph.draw(backwards, {name: name for name in names}) == picture


def test_few_lines_cross():
    """Two chains that were named against their order do not cross."""
    picture = graph.draw(
        {"c": ("b",), "b": ("z",), "y": ("x",), "x": ("a",)}, {name: name for name in "abcxyz"}
    )
    rows = {box.name: box.y for box in picture.boxes}
    assert rows["z"] == rows["b"] == rows["c"]
    assert rows["a"] == rows["x"] == rows["y"]


def test_an_empty_graph_and_a_lonely_box():
    assert graph.draw({}, {}).boxes == ()
    (box,) = graph.draw({"a": ()}, {"a": "a"}).boxes
    assert box.name == "a"


def test_colours_leave_the_text_of_every_view_as_it_is():
    catalog = Catalog.read()
    for view in catalog.values():
        text = str(highlight(view.sql, lambda name: f"{name}.html" if name in catalog else None))
        assert html.unescape(re.sub("<[^>]*>", "", text)) == view.sql, view.name
        linked = set(re.findall(r'href="([^"]*)\.html"', text))
        assert linked == {name for name in view.reads if name in catalog}, view.name


def test_words_numbers_texts_and_notes_have_their_colours():
    text = str(highlight("SELECT 1.5 AS x -- a 'note'\nFROM a.b WHERE y = '<é a.b>'", lambda name: "there"))
    assert '<span class="sql-word">SELECT</span>' in text
    assert '<span class="sql-number">1.5</span>' in text
    assert '<span class="sql-text">&#39;&lt;é a.b&gt;&#39;</span>' in text
    assert text.count('<a href="there">a.b</a>') == 1


def test_columns_of_a_header_stay_columns():
    view = Catalog.read()["vitaldb.normal_context_v0"]
    found = blocks(view)
    assert [kind for kind, _ in found] == ["text", "text", "text", "table"]
    assert found[2][1] == "Chosen, with the effect of the other reading on the real files:"
    table = found[3][1].splitlines()
    assert table[0].startswith("a gap ends a run      ")
    whole = " ".join(text for _, text in found)
    assert " ".join(whole.split()) == " ".join(view.description.split())


@pytest.mark.parametrize(("version", "gained", "lost"), [(1, 2002, 0), (2, 0, 6220)])
def test_versions_flip_on_the_real_files_what_was_counted_elsewhere(real_home, version, gained, lost):
    catalog = Catalog.read()
    used = catalog["vitaldb.normal_context_v0"]
    other = catalog[f"vitaldb.normal_context_v{version}"]
    query = flips_query(catalog, find_spec(TASK), used, other)
    rows = connect(real_home).execute(query).fetchall()
    assert [row[:8] for row in rows] == [
        (0, "abnormal", 40246, 40246, 0, 0, 0, 0),
        (1, "not abnormal", 52173, 52173 + gained - lost, gained - lost, gained, lost, rows[1][7]),
    ]


def test_flips_are_those_of_the_diff(synthetic_home):
    from warehouse.flips import compare
    from warehouse.variant import Variant

    catalog = Catalog.read()
    used, other = (catalog[f"vitaldb.normal_context_v{version}"] for version in (0, 2))
    rows = connect(synthetic_home).execute(flips_query(catalog, find_spec(TASK), used, other)).fetchall()
    found = compare(synthetic_home, TASK, Variant(), Variant(views={used.name: other.sql}))
    flips = [flip for flip in found.flips() if flip["class"] == "abnormal"]
    counted = sum(row[5] + row[6] for row in rows)
    assert counted == len(flips) > 0


def test_what_is_not_built_stands_in_the_query(synthetic_home):
    """A home whose build lacks stored views between gives the same rows."""
    catalog = Catalog.read()
    con = connect(synthetic_home)
    names = {
        f"{schema}.{name}"
        for schema, name in con.execute(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
    }
    used, other = (catalog[f"vitaldb.normal_context_v{version}"] for version in (0, 1))
    spec = find_spec(TASK)
    whole = con.execute(flips_query(catalog, spec, used, other, names)).fetchall()
    less = names - {"vitaldb.segment_v0", "vitaldb.annotation_v0", "vitaldb.record_v0"}
    query = flips_query(catalog, spec, used, other, less)
    assert '"vitaldb.segment_v0" AS (' in query
    assert con.execute(query).fetchall() == whole


def test_twelve_leads_lie_where_a_printer_puts_them():
    hz = 500
    leads = {lead: np.zeros(10 * hz) for lead in LEADS}
    leads["V5"][round(7.5 * hz) : round(7.5 * hz) + 50] = 1.0
    leads["aVR"][round(2.5 * hz) : round(3 * hz)] = np.nan
    sheet = lay_out(leads, hz)
    assert (sheet.hz, sheet.drawn_hz, sheet.cut) == (500, 250, False)
    assert [trace.lead for trace in sheet.traces] == [lead for row in ROWS for lead in row] + ["II"]
    (v5,) = (trace for trace in sheet.traces if trace.lead == "V5")
    x, y, *steps = map(int, re.findall(r"-?\d+", v5.path))
    assert x * STEP == LEFT + 3 * COLUMN_S * MM_PER_S
    assert y * STEP == pytest.approx(TOP + 25 - 10)
    assert sum(steps[1::2]) * STEP == pytest.approx(10), "back on the baseline"
    (avr,) = (trace for trace in sheet.traces if trace.lead == "aVR")
    assert int(re.findall(r"\d+", avr.path)[0]) * STEP == LEFT + 3 * MM_PER_S, (
        "half a second of it is missing"
    )
    leads["I"][:] = np.nan
    leads["II"][0] = 9.0
    assert lay_out(leads, 100).cut
