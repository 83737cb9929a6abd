"""Files of a data home that are damaged, missing or forged: a clear error, and the named remedy works."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from edited_map import edit_map
from releases import small_release

import cli
from warehouse.audit import audit
from warehouse.counts import count
from warehouse.errors import HomeError, LeadhouseError, RegistryError, UsageError
from warehouse.home import Home
from warehouse.load.vitaldb_arrhythmia import DATASET, load
from warehouse.materialize import check, materialize
from warehouse.query import connect, select
from warehouse.views import Catalog

TASK = "vitaldb-arrhythmia-abnormal"
SEGMENT = "vitaldb/segment_v0.parquet"
LABELS = "task/vitaldb_arrhythmia_abnormal_v0.parquet"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Home:
    place = tmp_path_factory.mktemp("damage")
    home = Home(place / "data")
    load(home, small_release(place / "release"))
    materialize(home)
    return home


@pytest.fixture
def home(whole, tmp_path) -> Home:
    """A copy that may be damaged."""
    shutil.copytree(whole.path, tmp_path / "data", symlinks=True)
    return Home(tmp_path / "data")


def flip(path: Path) -> None:
    """Change bytes and not the size."""
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 3, len(data) // 3 + 40):
        data[place] ^= 0xFF
    path.write_bytes(bytes(data))


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("no parquet at all"),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "flipped": flip,
}


def run(home: Home, *args: str):
    return CliRunner().invoke(cli.main, [*args, "--data", str(home.path)])


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", [SEGMENT, LABELS])
def test_a_damaged_built_file_is_said_and_built_anew(home, damage, file):
    before = count(home, TASK).as_json()
    DAMAGES[damage](home.built / file)
    assert check(home) == [f"{view(file)}: {file} is missing or was changed since it was built"]
    for args in (
        ["audit"],
        ["sql", f"SELECT count(*) FROM {view(file)}"],
        ["counts", TASK, "--by", "sex"],
        ["counts", TASK],
        ["baseline", TASK, "rr-annotated"],
        ["leaderboard", TASK],
    ):
        result = run(home, *args)
        assert result.exception is None or isinstance(result.exception, SystemExit), (args, result.exception)
        assert result.exit_code in (0, 1, 2)
    assert run(home, "audit").exit_code in (1, 2)
    assert materialize(home).built == [view(file)]
    assert check(home) == []
    assert count(home, TASK).as_json() == before


def view(file: str) -> str:
    return file.removesuffix(".parquet").replace("/", ".")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_raw_file_is_said_and_costs_no_build(home, damage):
    before = count(home, TASK).as_json()
    DAMAGES[damage](home.raw / DATASET / "annotation" / "annotation.parquet")
    assert check(home) == [
        "raw_vitaldb.annotation: its Parquet files are not the ones that load wrote; load again"
    ]
    result = run(home, "audit")
    assert result.exit_code in (1, 2)
    assert "raw" in result.stderr
    shutil.rmtree(home.built.resolve() / "vitaldb")
    with pytest.raises(
        HomeError, match=r"(?s)raw_vitaldb.annotation changed or missing.*load the data set again"
    ):
        materialize(home)
    assert count(home, TASK).as_json() == before


ENTRY = dict.fromkeys(("file", "rows", "sha256", "fingerprint", "rule"), "") | {"columns": {}, "reads": {}}
PARTS = (
    {"lineage": {"views": {}}, "files": []},
    {"lineage": None, "files": {}},
    {"lineage": {}, "files": {}},
    {"lineage": {"views": {}, "inputs": []}, "files": {}},
    {"lineage": {"views": {}}, "files": {}, "made_of": "x"},
)
TEXTS = ["", "{", "{}", "[]", '{"views": []}', '{"views": {"a": {}}}', "\udcff"]
TEXTS += [json.dumps({"views": {"a": ENTRY | parts}}) for parts in PARTS]


@pytest.mark.parametrize("text", TEXTS)
def test_a_damaged_manifest_is_said_and_built_anew(home, text):
    before = count(home, TASK).as_json()
    (home.built / "manifest.json").write_text(text, errors="surrogateescape")
    for args in (["counts", TASK], ["sql", "SELECT 1"], ["audit"], ["views"], ["materialize", "--check"]):
        result = run(home, *args)
        assert result.exit_code == 2, (args, result.output, result.exception)
        assert "manifest.json: found a damaged manifest" in result.stderr
        assert "run materialize" in result.stderr
    assert run(home, "materialize").exit_code == 0
    assert check(home) == []
    assert count(home, TASK).as_json() == before


def test_without_a_manifest_everything_is_built_anew(home):
    (home.built / "manifest.json").unlink()
    assert run(home, "counts", TASK).exit_code == 2
    assert len(materialize(home).built) == 8


def test_a_damaged_database_is_written_anew(home):
    for damage in (lambda path: path.write_bytes(b"garbage"), lambda path: path.unlink()):
        damage(home.database)
        materialize(home)
        import duckdb

        con = duckdb.connect(str(home.database), read_only=True)
        assert con.execute("SELECT count(*) FROM vitaldb.segment").fetchone()[0] > 0
        con.close()


@pytest.mark.parametrize("end", ["gone", "stored no more"])
def test_a_view_that_is_no_more_leaves_the_build(home, tmp_path, end):
    rules = tmp_path / "sql"
    shutil.copytree(Path(cli.__file__).parent / "sql", rules)
    draft = rules / "vitaldb" / "draft_v0.sql"
    draft.write_text(
        (rules / "vitaldb" / "noise_v0.sql")
        .read_text()
        .replace("vitaldb.noise v0", "vitaldb.draft v0")
        .replace("stored: no", "stored: yes")
    )
    assert materialize(home, catalog=Catalog.read(rules)).built == ["vitaldb.draft_v0"]
    if end == "gone":
        draft.unlink()
    else:
        draft.write_text(draft.read_text().replace("stored: yes", "stored: no"))
    assert check(home, catalog=Catalog.read(rules)) == [
        "vitaldb.draft_v0: built, but no stored view any more"
    ]
    materialize(home, catalog=Catalog.read(rules))
    assert check(home, catalog=Catalog.read(rules)) == []
    assert not (home.built / "vitaldb" / "draft_v0.parquet").exists()


def test_a_map_that_is_nowhere_is_no_missing_data(home, monkeypatch):
    from warehouse import database, maps

    files = {name: path for name, path in maps.map_files().items() if name != "vitaldb_reason"}
    monkeypatch.setattr(database, "map_files", lambda: files)
    for act in (lambda: materialize(home), lambda: connect(home)):
        with pytest.raises(
            RegistryError, match=r"reads map.vitaldb_reason; found no such file in registry/maps"
        ):
            act()


def test_a_word_that_a_map_has_twice_is_found_in_the_staging_that_is_not_stored(home, tmp_path, monkeypatch):
    """It doubles rows of vitaldb.annotation, and no grain of a stored view says so."""

    def doubled(text: str) -> str:
        header, first, *others = text.splitlines()
        return "\n".join([header, first, first, *others, ""])

    edit_map(monkeypatch, tmp_path, "vitaldb_rhythm", doubled)
    materialize(home)
    found = {finding.name: finding.count for finding in audit(home, TASK)}
    assert found["vitaldb.annotation_v0: grain"] > 0
    assert found["vitaldb.segment_v0: grain"] == 0


def test_a_word_that_a_map_spells_otherwise_is_looked_for_where_it_is_read(home, tmp_path, monkeypatch):
    edit_map(monkeypatch, tmp_path, "vitaldb_beat", lambda text: text.replace("V,beat,true", "V,beat,maybe"))
    with pytest.raises(
        RegistryError, match=r"'maybe'(?s:.)*within it: vitaldb.annotation_v0, map.vitaldb_beat"
    ):
        materialize(home)


PAGES = {
    "zeros": lambda pages: bytes(len(pages)),
    "other bits": lambda pages: pages[: len(pages) // 2] + bytes(b ^ 0x55 for b in pages[len(pages) // 2 :]),
}


@pytest.fixture(params=PAGES)
def torn(request, home) -> Path:
    """The raw annotations with damaged pages and a whole footer: what DuckDB says of them has many words."""
    file = home.raw / DATASET / "annotation" / "annotation.parquet"
    data = bytearray(file.read_bytes())
    group = pq.ParquetFile(file).metadata.row_group(0)
    for column in map(group.column, range(3)):
        begin = column.dictionary_page_offset or column.data_page_offset
        pages = slice(begin, begin + column.total_compressed_size)
        data[pages] = PAGES[request.param](bytes(data[pages]))
    file.write_bytes(data)
    return file


def test_a_damaged_page_of_a_raw_table_is_a_finding_of_the_audit(home, torn):
    found = {finding.name: finding for finding in audit(home, TASK)}
    assert found["raw files"].rows == (("raw_vitaldb.annotation",),)
    assert found["vitaldb.annotation_v0: grain"].note.startswith("not run: what it reads is damaged")
    assert found["vitaldb.segment_v0: grain"].count == 0


@pytest.mark.parametrize(
    "words",
    [
        ["baseline", TASK, "rr-annotated"],
        ["sql", "SELECT max(row_no + time_s) FROM vitaldb.annotation"],
        ["whatif", TASK, "--set", "max_annotation_gap_s=9"],
        ["diff", "vitaldb.normal_context@0", "@2"],
    ],
)
def test_a_damaged_page_is_named_whatever_reads_it(home, torn, words):
    result = run(home, *words)
    assert result.exit_code == 2, result.output
    assert f"{torn}: found " in result.stderr
    assert result.stderr.endswith("next: load the data set again\n")


def test_two_damaged_files_are_both_named(home, torn):
    flip(home.built.resolve() / "vitaldb/segment_evidence_v0.parquet")
    result = run(home, "sql", "SELECT max(row_no + time_s) FROM vitaldb.annotation")
    assert result.exit_code == 2
    assert "annotation.parquet: found" in result.stderr
    assert "segment_evidence_v0.parquet: found" in result.stderr
    assert "load the data set again; run materialize" in result.stderr


def test_no_file_is_blamed_for_what_a_query_does_wrong(home, torn):
    result = run(home, "sql", "SELECT CAST(max(case_id) || 'x' AS INTEGER) FROM vitaldb.segment_v0")
    assert result.exit_code == 2
    assert "Could not convert string" in result.stderr
    assert "annotation.parquet" not in result.stderr


def test_an_audit_of_nothing_is_an_error(tmp_path, whole):
    home = Home(tmp_path / "data")
    load(home, whole.path.parent / "release")
    with pytest.raises(LeadhouseError, match="found nothing built to audit"):
        audit(home)


@pytest.mark.parametrize("sign", ["*", "?", "[a]", "\\", "\n", "\udcff"])
def test_a_path_that_readers_take_for_a_pattern_is_refused(tmp_path, sign):
    with pytest.raises(UsageError, match="in the path of the data home"):
        Home.resolve(str(tmp_path / f"a{sign}b"))


@pytest.mark.parametrize(
    "name", ["it's here", 'say "so"', "a b", "ünï", "100%", "a;b", "{x}", "$HOME", "-- x"]
)
def test_other_signs_in_the_path_do_no_harm(whole, tmp_path, name):
    home = Home.resolve(str(tmp_path / name))
    load(home, whole.path.parent / "release")
    materialize(home)
    assert count(home, TASK).as_json() == count(whole, TASK).as_json()
    assert check(home) == []
    for args in (["audit"], ["sql", "SELECT count(*) FROM vitaldb.segment"], ["counts", TASK, "--by", "sex"]):
        assert run(home, *args).exit_code == 0, args
    out = home.path / "prior.parquet"
    assert run(home, "baseline", TASK, "prior", "--out", str(out)).exit_code == 0
    assert run(home, "score", TASK, str(out)).exit_code == 0


def test_a_reader_sees_the_build_it_began_with(home, tmp_path):
    con = connect(home)
    before = con.execute("SELECT count(*) FROM vitaldb.segment_v0").fetchall()
    load(home, small_release(tmp_path / "other", cases=14, seed=9))
    materialize(home)
    assert con.execute("SELECT count(*) FROM vitaldb.segment_v0").fetchall() == before
    assert connect(home).execute("SELECT count(*) FROM vitaldb.segment_v0").fetchall() != before


def test_readers_go_on_while_builds_are_published(home, tmp_path):
    """A query never fails, and never mixes two builds, while another process publishes."""
    rules = []
    for seconds in (45, 30):
        place = tmp_path / f"sql-{seconds}"
        shutil.copytree(Path(cli.__file__).parent / "sql", place)
        path = place / "vitaldb" / "normal_context_v0.sql"
        path.write_text(path.read_text().replace("45 AS normal_context_s", f"{seconds} AS normal_context_s"))
        rules.append(Catalog.read(place))
    failures: list[BaseException] = []
    done = threading.Event()

    read = 0

    def publish() -> None:
        try:
            for number in range(400):
                if number >= 16 and read > 3:
                    break
                materialize(home, catalog=rules[number % 2])
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=publish)
    thread.start()
    while not done.is_set():
        select(
            home, "SELECT count(*) FROM vitaldb.segment_v0 JOIN vitaldb.record_v0 USING (case_id)"
        ).fetchall()
        count(home, TASK)
        read += 1
    thread.join()
    assert failures == []
    assert read > 3


def test_a_home_with_a_hand_made_table_is_not_believed(home):
    """Same columns, other labels: the file is not the one of the manifest."""
    table = pq.read_table(home.built / LABELS)
    flipped = pa.array([None if value is None else not value for value in table["abnormal"].to_pylist()])
    forged = table.set_column(table.column_names.index("abnormal"), "abnormal", flipped)
    pq.write_table(forged, home.built / LABELS)
    assert "changed since it was built" in "".join(check(home))
    assert run(home, "audit").exit_code == 1
