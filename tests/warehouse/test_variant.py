"""A home under other rules: what is computed, what is read, and that both give what a build would give."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.home import Home
from warehouse.materialize import materialize
from warehouse.project import sql_root
from warehouse.variant import Variant, memory, open_variant, place
from warehouse.views import Catalog

TASK = "task.vitaldb_arrhythmia_abnormal_v0"
CONTEXT = "vitaldb.normal_context_v0"
CATALOG = Catalog.read()
SHORTER = CATALOG[CONTEXT].sql.replace("45 AS normal_context_s", "20 AS normal_context_s")


def rows(con, view: str = TASK) -> list[tuple]:
    return con.execute(f"SELECT * FROM {view} ORDER BY ALL").fetchall()


def kinds(con) -> dict[str, str]:
    """What is defined: name → VIEW or BASE TABLE, inputs left out."""
    query = "SELECT table_schema || '.' || table_name, table_type FROM information_schema.tables"
    return {name: kind for name, kind in con.execute(query).fetchall() if name in CATALOG}


def copied(home: Home, place: Path) -> Home:
    shutil.copytree(home.path, place / "data", symlinks=True)
    return Home(place / "data")


@pytest.fixture
def changed_catalog(tmp_path: Path) -> Catalog:
    """Today's views but for a shorter normal context, as files."""
    shutil.copytree(sql_root(), tmp_path / "sql")
    file = tmp_path / "sql" / "vitaldb" / "normal_context_v0.sql"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("45 AS normal_context_s", "20 AS normal_context_s"), encoding="utf-8")
    return Catalog.read(tmp_path / "sql")


def test_without_a_change_only_the_target_is_read(synthetic_home: Home):
    con = open_variant(synthetic_home, CATALOG, Variant(), [TASK])
    assert kinds(con) == {TASK: "VIEW"}


def test_a_changed_text_gives_what_a_build_of_it_gives(synthetic_home: Home, tmp_path: Path, changed_catalog):
    con = open_variant(synthetic_home, CATALOG, Variant({CONTEXT: SHORTER}), [TASK])
    built = copied(synthetic_home, tmp_path)
    materialize(built, catalog=changed_catalog)
    fresh = open_variant(built, changed_catalog, Variant(), [TASK])
    assert kinds(fresh) == {TASK: "VIEW"}, "read from the build, so nothing of this module computed it"
    assert rows(con) == rows(fresh) != rows(open_variant(synthetic_home, CATALOG, Variant(), [TASK]))


def test_what_nothing_touches_is_not_computed(synthetic_home: Home):
    con = memory()
    placed = place(con, synthetic_home, CATALOG, Variant({CONTEXT: SHORTER}), [TASK])
    assert placed.computed == (CONTEXT, "vitaldb.segment_evidence_v0", TASK)
    assert placed.stale == ()
    defined = kinds(con)
    assert defined[TASK] == "BASE TABLE", "the target is computed once"
    assert defined["vitaldb.segment_evidence_v0"] == "VIEW", "one reader: computed within it"
    for name in ("vitaldb.segment_rhythm_v0", "vitaldb.segment_v0"):
        (text,) = con.execute(
            f"SELECT sql FROM duckdb_views() WHERE schema_name || '.' || view_name = '{name}'"
        ).fetchone()
        assert "read_parquet" in text


def test_a_select_list_over_a_stored_view_needs_none_of_its_parents(synthetic_home: Home):
    lists = {"vitaldb.segment_evidence_v0": "* REPLACE (FALSE AS accepted)"}
    con = open_variant(synthetic_home, CATALOG, Variant(columns=lists), [TASK])
    assert CONTEXT not in kinds(con)
    assert con.execute(f"SELECT count(*) FROM {TASK} WHERE scored").fetchall() == [(0,)]


def test_another_map_is_read_in_its_place(synthetic_home: Home, tmp_path: Path):
    from warehouse.maps import map_files

    file = tmp_path / "vitaldb_beat.csv"
    text = map_files()["vitaldb_beat"].read_text(encoding="utf-8")
    file.write_text(text.replace("true", "false"), encoding="utf-8")
    con = open_variant(
        synthetic_home, CATALOG, Variant(maps={"vitaldb_beat": file}), ["vitaldb.annotation_v0"]
    )
    assert con.execute("SELECT count(*) FROM vitaldb.annotation_v0 WHERE is_premature").fetchall() == [(0,)]


def test_a_stale_build_is_computed_anew_and_named(synthetic_home: Home, tmp_path: Path, changed_catalog):
    """The build is of another rule than the files: today's rule counts, not what lies there."""
    built = copied(synthetic_home, tmp_path)
    materialize(built, catalog=changed_catalog)
    con = memory()
    placed = place(con, built, CATALOG, Variant(), [TASK])
    assert placed.stale == placed.computed == (CONTEXT, "vitaldb.segment_evidence_v0", TASK)
    assert rows(con) == rows(open_variant(synthetic_home, CATALOG, Variant(), [TASK]))


def test_the_catalog_of_a_variant_takes_the_place_of_today_s(synthetic_home: Home, changed_catalog):
    one = open_variant(synthetic_home, CATALOG, Variant(catalog=changed_catalog), [TASK])
    other = open_variant(synthetic_home, CATALOG, Variant({CONTEXT: SHORTER}), [TASK])
    assert rows(one) == rows(other)


def test_nothing_is_written(synthetic_home: Home, tmp_path: Path):
    home = copied(synthetic_home, tmp_path)
    before = {path: path.lstat().st_mtime_ns for path in home.path.rglob("*")}
    for path in [
        home.path,
        *(path for path in home.path.rglob("*") if path.is_dir() and not path.is_symlink()),
    ]:
        path.chmod(0o555)
    try:
        con = open_variant(home, CATALOG, Variant({CONTEXT: SHORTER}), [TASK])
        assert con.execute(f"SELECT count(*) > 0 FROM {TASK}").fetchall() == [(True,)]
    finally:
        for path in [home.path, *before]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    assert {path: path.lstat().st_mtime_ns for path in home.path.rglob("*")} == before


@pytest.mark.parametrize(
    ("variant", "targets", "error", "message"),
    [
        (
            Variant({CONTEXT: "SELEC 1"}),
            [TASK],
            RegistryError,
            "normal_context_v0, as changed: found syntax error",
        ),
        (
            Variant({CONTEXT: "SELECT * FROM nowhere.at_all"}),
            [TASK],
            RegistryError,
            "found it reads nowhere.at_all",
        ),
        (
            Variant({CONTEXT: "SELECT nothing FROM vitaldb.annotation_v0"}),
            [TASK],
            RegistryError,
            "normal_context_v0, as changed: DuckDB refuses the view",
        ),
        (
            Variant({CONTEXT: "SELECT case_id, 1 AS run_no FROM vitaldb.annotation_v0"}),
            [TASK],
            RegistryError,
            "segment_evidence_v0.sql: DuckDB refuses the view with vitaldb.normal_context_v0 as changed",
        ),
        (
            Variant({CONTEXT: SHORTER.replace("20 AS normal", "'x' AS normal")}),
            [TASK],
            RegistryError,
            "vitaldb.normal_context_v0 as changed: Conversion Error|normal_context_v0, as changed",
        ),
        (Variant({"vitaldb.nothing_v0": "SELECT 1"}), [TASK], UsageError, "found no view vitaldb.nothing_v0"),
        (
            Variant(columns={"vitaldb.nothing_v0": "*"}),
            [TASK],
            UsageError,
            "found no view vitaldb.nothing_v0",
        ),
        (
            Variant(maps={"nothing": Path("x.csv")}),
            [TASK],
            UsageError,
            "found no map 'nothing'; expected one of",
        ),
        (Variant(maps={"vitaldb_beat": Path("gone.csv")}), [TASK], UsageError, "gone.csv: cannot be read"),
        (Variant(), ["vitaldb.nothing_v0"], UsageError, "found no view vitaldb.nothing_v0"),
        (Variant(), ["lydus.record_label_v0"], HomeError, "found nothing loaded for raw_lydus.dx_line"),
    ],
)
def test_what_cannot_be_opened_says_why(synthetic_home: Home, variant, targets, error, message):
    with pytest.raises(error, match=message):
        open_variant(synthetic_home, CATALOG, variant, targets)


def test_a_damaged_file_is_named(synthetic_home: Home, tmp_path: Path):
    home = copied(synthetic_home, tmp_path)
    (home.built / CATALOG[TASK].file).write_bytes(b"no Parquet")
    with pytest.raises(
        HomeError, match=r"vitaldb_arrhythmia_abnormal_v0\.parquet: found (?s:.*)run materialize"
    ):
        open_variant(home, CATALOG, Variant(), [TASK])
