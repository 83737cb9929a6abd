"""The view files: portable, in order, with a unique grain, and their constants are the specification's."""

from __future__ import annotations

import re
from decimal import Decimal

import duckdb
import pytest
import sqlglot
from sql_cases import create_map, create_table, raw_columns, table_columns, views_of
from sqlglot import exp

from warehouse.database import of_loaded
from warehouse.errors import RegistryError
from warehouse.home import Home
from warehouse.lint import lint_view
from warehouse.load.cards import card_of, datasets
from warehouse.load.report import LoadReport, write_report
from warehouse.maps import map_rows
from warehouse.query import connect
from warehouse.spec import find_spec
from warehouse.views import LAYERS, Catalog, View, read_view

CATALOG = Catalog.read()
VIEWS = list(CATALOG.values())
IDS = list(CATALOG)
UNITS = {"1000", "1000.0", "6"}
"""Numbers that are no constants of a rule: milliseconds a second, digits to the microsecond."""


@pytest.mark.parametrize("view", VIEWS, ids=IDS)
def test_view_is_portable(view: View):
    assert lint_view(view) == []


def test_parents_come_first_and_no_view_reads_a_later_layer():
    seen: set[str] = set()
    for view in VIEWS:
        for parent in CATALOG.parents(view):
            assert parent.name in seen
            assert LAYERS.index(parent.layer) <= LAYERS.index(view.layer)
        seen.add(view.name)
    assert {view.layer for view in VIEWS} == set(LAYERS)


def test_task_views_are_stored():
    assert [view.name for view in VIEWS if view.layer == "task" and not view.stored] == []


@pytest.mark.parametrize("name", ["signal_home", "real_home"])
def test_grain_is_unique_and_never_null(request, name):
    """Over every view, stored or not; and none is empty, else this would say nothing."""
    home: Home = request.getfixturevalue(name)
    con = connect(home)
    repeated, empty = {}, []
    views = views_of(home)
    assert {view.name for view in VIEWS if view.schema == "vitaldb"} <= {view.name for view in views}
    for view in views:
        keys = ", ".join(view.grain)
        con.execute(f"CREATE OR REPLACE TEMP TABLE rows_of_it AS SELECT {keys} FROM {view.name}")
        (rows,) = con.execute("SELECT count(*) FROM rows_of_it").fetchone()
        (distinct,) = con.execute("SELECT count(*) FROM (SELECT DISTINCT * FROM rows_of_it)").fetchone()
        nulls = " OR ".join(f"{key} IS NULL" for key in view.grain)
        (holes,) = con.execute(f"SELECT count(*) FROM rows_of_it WHERE {nulls}").fetchone()
        if (distinct, holes) != (rows, 0):
            repeated[view.name] = (rows, distinct, holes)
        if not rows and view.layer != "audit":
            empty.append(view.name)
    assert repeated == {}
    assert empty == ([] if name == "signal_home" else ["vitaldb.clock_offset_v0", "vitaldb.missing_ecg_v0"])


@pytest.mark.parametrize("view", [view for view in VIEWS if view.stored], ids=lambda view: view.name)
def test_stored_files_are_sorted_by_the_grain(view: View, signal_home: Home):
    import pyarrow.parquet as pq

    if view not in views_of(signal_home):
        pytest.skip(f"{view.schema} is not in the synthetic release")
    rows = pq.read_table(signal_home.built / view.file, columns=list(view.grain)).to_pylist()
    found = [tuple(row[key] for key in view.grain) for row in rows]
    assert found == sorted(found)


def test_no_sum_or_average_over_floats():
    """Two threads would give other last bits. DuckDB's bit_xor takes integers alone, so it stands in for them."""
    summing = [
        view
        for view in VIEWS
        if view.name in table_columns() and re.search(r"\b(sum|avg)\(", view.sql, re.IGNORECASE)
    ]
    assert summing
    con = duckdb.connect()
    for name, columns in raw_columns().items():
        create_table(con, name, columns)
    known = [view for view in VIEWS if view.name in table_columns()]
    for view in known:
        for name in view.reads:
            if name.startswith("map."):
                create_map(con, name[4:])
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {view.schema}")
        con.execute(
            f"CREATE TABLE {view.name} AS {view.sql}\nLIMIT 0"
        )  # a view would be bound again by each reader
    for view in summing:
        con.execute(re.sub(r"\b(sum|avg)\(", "bit_xor(", view.sql, flags=re.IGNORECASE))
    with pytest.raises(duckdb.BinderException, match="bit_xor"):
        con.execute("SELECT bit_xor(time_s) FROM vitaldb.annotation_v0")


def constants(view: View) -> dict[str, Decimal | str]:
    """What the ``params`` CTE declares: numbers, and anything else as its text."""
    tree = sqlglot.parse_one(view.sql, dialect="duckdb")
    found: dict[str, Decimal | str] = {}
    for cte in tree.find_all(exp.CTE):
        if cte.alias == "params":
            for column in cte.this.expressions:
                value = column.this
                is_number = isinstance(value, exp.Literal) and not value.is_string
                found[column.alias] = Decimal(value.this) if is_number else value.sql(dialect="duckdb")
    return found


def spec_paths(view: View) -> tuple[dict, set[str], set[str]]:
    """The specification that ``source`` names with the paths it names in it, and the constants that are ours."""
    ours = {
        name.strip() for group in re.findall(r"ours \(([^)]*)\)", view.source) for name in group.split(",")
    }
    task = re.search(r"[a-z0-9-]+@\d+", view.source)
    paths = set(re.findall(r"\b[a-z_]+(?:\.[a-z_]+)+\b", view.source))
    return (find_spec(task[0]).data if task else {}), paths, ours


def at(data: dict, path: str) -> object:
    for part in path.split("."):
        data = data[part]
    return data


@pytest.mark.parametrize("view", [view for view in VIEWS if constants(view)], ids=lambda view: view.name)
def test_constants_are_those_of_the_specification(view: View):
    data, paths, ours = spec_paths(view)
    named = {path.rsplit(".", 1)[1]: path for path in paths}
    for name, value in constants(view).items():
        assert (name in ours) != (name in named), f"{name}: the header's source names no path that ends in it"
        if name in named:
            stated = at(data, named[name])
            assert value == (Decimal(str(stated)) if isinstance(value, Decimal) else stated), name
    assert ours <= set(constants(view)), "the header names a constant that is not there"


@pytest.mark.parametrize("view", VIEWS, ids=IDS)
def test_paths_and_deviations_of_the_header_exist(view: View):
    """``source`` names parts of the specification that are there."""
    data, paths, _ = spec_paths(view)
    if not data:
        return
    for path in paths - {"metadata.csv", f"{view.schema}.{view.stem}"}:
        if path.split(".")[0] in data:
            at(data, path)
    deviations = {deviation["part"] for deviation in data["deviations"]}
    for listed in re.findall(r"deviations? ([a-z_, ]+)", view.source):
        assert {name.strip() for name in listed.split(",")} <= deviations


@pytest.mark.parametrize("view", VIEWS, ids=IDS)
def test_numbers_stand_in_params(view: View):
    """Any other number in the text than 0 and 1 would be a constant that nobody compares.

    What a character or a place in a text is, is no constant: chr(10), split_part(x, '|', 2). sha256 is a name.
    """
    tree = sqlglot.parse_one(view.sql, dialect="duckdb")
    for cte in list(tree.find_all(exp.CTE)):
        if cte.alias == "params":
            cte.pop()
    placed = (exp.Chr, exp.SplitPart, exp.Substring, exp.SHA2)
    numbers = {
        node.this
        for node in tree.find_all(exp.Literal)
        if not node.is_string and not isinstance(node.parent, placed)
    }
    assert numbers - UNITS <= {"0", "1"}


def test_lists_of_the_specification_equal_the_maps():
    label = find_spec("vitaldb-arrhythmia-abnormal@0").data["label"]
    rhythms: dict[str, set[str]] = {}
    for row in map_rows("vitaldb_rhythm"):
        rhythms.setdefault(row["role"], set()).add(row["rhythm"])
    assert rhythms == {role: set(label[role]) for role in ("abnormal", "normal", "not_scored")}
    premature = {row["beat_type"] for row in map_rows("vitaldb_beat") if row["premature"] == "true"}
    assert premature == set(label["premature_beats"])


def test_every_reason_of_the_evidence_is_in_the_map(signal_home: Home):
    query = "SELECT DISTINCT reason FROM vitaldb.segment_evidence_v0 WHERE reason IS NOT NULL"
    found = {reason for (reason,) in connect(signal_home).execute(query).fetchall()}
    assert found == {row["reason"] for row in map_rows("vitaldb_reason")}
    ranks = [int(row["rank"]) for row in map_rows("vitaldb_reason")]
    assert len(set(ranks)) == len(ranks)


HEADER = """-- vitaldb.thing v0
-- layer: evidence
-- grain: case_id
-- shard: case_id
-- stored: no
-- status: draft
-- source: somewhere
--
-- What it is.

SELECT case_id FROM vitaldb.annotation_v0
"""


def written(tmp_path, text: str, name: str = "thing_v0.sql"):
    path = tmp_path / "vitaldb" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_header_is_read(tmp_path):
    view = read_view(written(tmp_path, HEADER))
    assert (view.name, view.alias, view.grain, view.shard) == (
        "vitaldb.thing_v0",
        "vitaldb.thing",
        ("case_id",),
        "case_id",
    )
    assert view.description == "What it is."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-- vitaldb.thing v0", "-- vitaldb.thing v1", "expected '-- vitaldb.thing v0'"),
        ("-- grain: case_id\n", "", "lacks grain"),
        ("-- source: somewhere\n", "", "lacks source"),
        ("-- What it is.\n", "", "lacks a description"),
        ("layer: evidence", "layer: proof", "expected one of staging"),
        ("stored: no", "stored: maybe", "expected one of yes, no"),
        ("status: draft", "status: final", "expected one of draft, released"),
        ("-- layer", "-- owner: me\n-- layer", "row 2"),
        ("SELECT case_id FROM vitaldb.annotation_v0\n", "", "no SELECT"),
    ],
)
def test_a_broken_header_names_the_file(tmp_path, old, new, message):
    assert HEADER.count(old) == 1
    path = written(tmp_path, HEADER.replace(old, new))
    with pytest.raises(RegistryError, match=re.escape(message)) as caught:
        read_view(path)
    assert str(path) in str(caught.value)


def test_another_file_name_is_refused(tmp_path):
    with pytest.raises(RegistryError, match="_v<N>"):
        read_view(written(tmp_path, HEADER, "Thing.sql"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("vitaldb.thing_v0", "circle"),
        ("vitaldb.annotation", "expected a view with its version"),
        ("vitaldb.later_v0", "of the later layer task"),
    ],
)
def test_a_wrong_parent_is_refused(tmp_path, table, message):
    written(tmp_path, HEADER.replace("vitaldb.annotation_v0", table))
    later = HEADER.replace("vitaldb.thing", "vitaldb.later").replace("layer: evidence", "layer: task")
    written(tmp_path, later.replace("vitaldb.annotation_v0", "raw_vitaldb.annotation"), "later_v0.sql")
    catalog = Catalog.read(tmp_path)
    with pytest.raises(RegistryError, match=message):
        catalog.lineage(["vitaldb.thing_v0"])
    with pytest.raises(RegistryError, match=message):
        list(catalog)


def test_a_view_reads_the_data_of_the_one_data_set_that_it_is_said_to_belong_to(tmp_path):
    """What `of_loaded` goes by, names alone, is what the SQL reads: with one data set there, all that its raw tables,
    with maps and splits, can feed and nothing that another one's would have to."""
    catalog = Catalog.read()
    feeds = {
        view.name: {
            name.split(".")[0].removeprefix("raw_")
            for member in catalog.lineage([view.name])
            for name in catalog.inputs(member)
            if name.startswith("raw_")
        }
        for view in catalog.values()
    }
    for dataset in datasets():
        home = Home(tmp_path / dataset)
        folder = home.raw / dataset
        folder.mkdir(parents=True)
        write_report(folder, LoadReport(dataset, card_of(dataset)["schema"]))
        here = {view.name for view in of_loaded(home, catalog)}
        schema = card_of(dataset)["schema"]
        assert {name for name, read in feeds.items() if schema in read} <= here
        assert {name for name in here if feeds[name] - {schema, "review"}} == set()
