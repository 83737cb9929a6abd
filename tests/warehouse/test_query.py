"""`sql` reads one SELECT and nothing else."""

from __future__ import annotations

import pytest
from edited_map import edit_map

from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.query import connect, older_behind, prepare, select


def rows(home, text: str) -> list[tuple]:
    return select(home, text).fetchall()


def test_every_view_can_be_selected_from(synthetic_home):
    from warehouse.database import computable, inputs
    from warehouse.views import Catalog

    catalog = Catalog.read()
    able = computable(catalog.values(), inputs(synthetic_home))
    assert len(able) > 18
    for view in catalog.values():
        if view.name in able:
            rows(synthetic_home, f"SELECT * FROM {view.name} LIMIT 1")
            rows(synthetic_home, f"SELECT * FROM {view.alias} LIMIT 1")
        else:
            with pytest.raises(UsageError, match=r"does not exist"):
                rows(synthetic_home, f"SELECT * FROM {view.name} LIMIT 1")


def test_the_version_less_name_is_the_newest(synthetic_home):
    assert rows(synthetic_home, "SELECT count(*) FROM vitaldb.segment") == rows(
        synthetic_home, "SELECT count(*) FROM vitaldb.segment_v0"
    )


@pytest.mark.parametrize(
    "text",
    [
        "WITH a AS (SELECT 1 AS x) SELECT x FROM a",
        "FROM vitaldb.record SELECT count(*)",
        "DESCRIBE vitaldb.segment",
        "SUMMARIZE vitaldb.record",
        "SELECT count(*) FROM map.vitaldb_rhythm",
        "SELECT count(*) FROM split.vitaldb",
        "SELECT count(*) FROM raw_vitaldb.annotation;",
        "-- a comment; with a semicolon\nSELECT ';'",
    ],
)
def test_reading_is_allowed(synthetic_home, text):
    assert rows(synthetic_home, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("SELECT 1; SELECT 2", "SELECT and SELECT"),
        ("SELECT 1; DROP TABLE map.vitaldb_rhythm", "SELECT and DROP"),
        ("DROP VIEW vitaldb.segment_v0", "DROP"),
        ("CREATE TABLE x AS SELECT 1", "CREATE"),
        ("INSERT INTO map.vitaldb_rhythm VALUES (1)", "INSERT"),
        ("UPDATE map.vitaldb_rhythm SET role = 'normal'", "UPDATE"),
        ("DELETE FROM map.vitaldb_rhythm", "DELETE"),
        ("ATTACH ':memory:' AS other", "ATTACH"),
        ("COPY (SELECT 1) TO 'x.csv'", "COPY"),
        ("SET memory_limit = '1GB'", "SET"),
        ("PRAGMA database_list", "PRAGMA"),
        ("INSTALL httpfs", "LOAD"),
        ("LOAD httpfs", "LOAD"),
        ("EXPORT DATABASE 'x'", "EXPORT"),
        ("CALL pragma_version()", "CALL"),
        ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN"),
    ],
)
def test_anything_else_is_refused(synthetic_home, text, found):
    with pytest.raises(UsageError, match=r"expected one SELECT|the query fails") as caught:
        rows(synthetic_home, text)
    assert caught.value.exit_code == 2
    if "expected one SELECT" in str(caught.value):
        assert found in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_text('{outside}')",
        "SELECT * FROM read_csv('{outside}')",
        "SELECT * FROM '{outside}'",
        "SELECT * FROM read_text('{home}/../secret.csv')",
        "SELECT * FROM read_text('{home}/raw/../../secret.csv')",
        "SELECT * FROM glob('{parent}/*')",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
        "SELECT getenv('HOME')",
    ],
)
def test_no_file_outside_the_home_is_read(synthetic_home, text):
    secret = synthetic_home.path.parent / "secret.csv"
    secret.write_text("a\nsecret\n")
    filled = text.format(outside=secret, home=synthetic_home.path, parent=synthetic_home.path.parent)
    with pytest.raises(UsageError) as caught:
        rows(synthetic_home, filled)
    assert "secret\n" not in str(caught.value)


def test_the_configuration_is_locked(synthetic_home):
    con = select(synthetic_home, "SELECT 1")
    with pytest.raises(Exception, match="locked"):
        con.execute("SET enable_external_access = true")


def test_a_failing_query_says_duckdbs_words(synthetic_home):
    with pytest.raises(UsageError, match=r"the query fails: .*no_such_table"):
        rows(synthetic_home, "SELECT * FROM no_such_table")
    with pytest.raises(UsageError, match="cannot parse"):
        rows(synthetic_home, "SELEC 1")


def test_connect_writes_nothing(synthetic_home):
    before = sorted(str(path) for path in synthetic_home.path.rglob("*"))
    connect(synthetic_home).execute("SELECT count(*) FROM vitaldb.segment_label_v0").fetchall()
    assert sorted(str(path) for path in synthetic_home.path.rglob("*")) == before


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("SELECT 1", set()),
        ("FROM vitaldb.record_v0", {"vitaldb.record_v0"}),
        ('SELECT * FROM "VitalDB".record', {"vitaldb.record"}),
        (
            "WITH a AS (FROM vitaldb.record) FROM a JOIN map.vitaldb_beat ON TRUE",
            {"vitaldb.record", "map.vitaldb_beat"},
        ),
        ("SELECT 1 FROM a.b WHERE c IN (SELECT d FROM e.f)", {"a.b", "e.f"}),
        ("FROM nowhere", None),
        ("FROM duckdb_views()", None),
        ("DESCRIBE vitaldb.record", None),
        ("SHOW TABLES", None),
        ("SELEC", None),
    ],
)
def test_a_query_is_given_what_it_names(query, named):
    """And everything where it may look at whatever there is."""
    from warehouse.query import _asked

    assert _asked(query) == named


def test_what_is_defined_for_a_query_does_not_change_its_answer(synthetic_home):
    """By the name with a version and without, a raw table and a map; the lists of what there is are whole."""
    from warehouse.query import connect

    con = connect(synthetic_home)
    for query in (
        "SELECT label, count(*) FROM vitaldb.segment_label GROUP BY label ORDER BY ALL",
        "SELECT count(*) FROM raw_vitaldb.annotation AS a JOIN map.vitaldb_rhythm AS r ON a.rhythm_label = r.spelling",
        "SELECT count(*) FROM information_schema.tables",
        "SELECT count(*) FROM duckdb_views() WHERE NOT internal",
    ):
        found = rows(synthetic_home, query)
        assert found == con.execute(query).fetchall()
        assert found[0][0] != 0


def test_what_changed_since_the_build_that_a_query_reads(synthetic_home, tmp_path, monkeypatch):
    edit_map(monkeypatch, tmp_path, "vitaldb_beat", lambda text: text.replace(",beat,true", ",beat,false"))
    for table in ("vitaldb.segment", "vitaldb.segment_label_v0", "task.vitaldb_arrhythmia_abnormal"):
        assert older_behind(synthetic_home, f"SELECT count(*) FROM {table}") == ["map.vitaldb_beat"]
    for text in (
        "SUMMARIZE vitaldb.segment",
        'SELECT 1 FROM "vitaldb"."SEGMENT", range(3)',
        "SELECT 1 FROM query_table('vitaldb.segment_v0')",
        "WITH S AS (SELECT 1 AS x) SELECT 1 FROM s, vitaldb.segment",
    ):
        assert older_behind(synthetic_home, text) == ["map.vitaldb_beat"], text
    assert older_behind(synthetic_home, "SHOW ALL TABLES") == []
    for table in ("vitaldb.annotation", "vitaldb.record_v0", "map.vitaldb_beat", "nothing.at_all"):
        assert older_behind(synthetic_home, f"SELECT count(*) FROM {table}") == []


def test_a_view_that_only_lacks_a_build_says_so(synthetic_home, tmp_path):
    home = Home(tmp_path / "data")
    home.raw.mkdir(parents=True)
    for folder in synthetic_home.raw.iterdir():
        (home.raw / folder.name).symlink_to(folder.resolve())
    for table in ("vitaldb.segment", "vitaldb.segment_label_v0", "vitaldb.segment, range(2)"):
        with pytest.raises(HomeError, match=r"(?s)no build of vitaldb\..*next: run materialize"):
            prepare(home, f"SELECT count(*) FROM {table}")
    assert prepare(home, "SELECT 1 FROM vitaldb.annotation LIMIT 1") is not None


def test_a_split_that_changed_since_the_build_is_told(synthetic_home, monkeypatch):
    from warehouse import database, splits

    monkeypatch.setattr(database, "declaration", lambda schema: splits.declaration(schema) | {"sha256": "00"})
    assert older_behind(synthetic_home, "SELECT 1 FROM task.vitaldb_arrhythmia_abnormal") == ["split.vitaldb"]
    assert older_behind(synthetic_home, "SELECT 1 FROM vitaldb.segment") == []
