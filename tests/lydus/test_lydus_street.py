"""A synthetic release down the whole street: raw tables, views, reports and audits, and that parts keep apart."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from dx_views import COLUMNS
from oracle import dx
from sql_cases import raw_columns

from warehouse.home import Home
from warehouse.maps import map_rows
from warehouse.query import connect
from warehouse.views import Catalog

REPORTS = [view.name for view in Catalog.read().values() if view.schema == "lydus" and view.layer == "report"]
AUDITS = [
    view.name
    for view in Catalog.read().values()
    if view.layer == "audit"
    and "lydus" in f"{view.schema}.{view.stem}"
    and not any(name.startswith("image.") for name in view.reads)  # tests/pipelines/render draws some
]


@pytest.fixture(scope="module")
def con(lydus_home: Home):
    return connect(lydus_home)


def rows(con, query: str) -> list[tuple]:
    return con.execute(query).fetchall()


def test_raw_tables_have_the_columns_of_the_cases(con):
    """What tests/sql_cases.py says of the loader's tables."""
    for name, columns in raw_columns().items():
        if name.startswith("raw_lydus.") or name == "split.lydus":
            assert sorted(row[:2] for row in rows(con, f"DESCRIBE {name}")) == sorted(columns), name


def test_labels_are_the_oracles(con):
    records: dict[str, list[str]] = {
        record: [] for (record,) in rows(con, "SELECT record_id FROM raw_lydus.record")
    }
    for record, text in rows(
        con,
        "SELECT record_id, text FROM raw_lydus.dx_line INNER JOIN raw_lydus.dx_text USING (text_id) "
        "ORDER BY record_id, line_no",
    ):
        records[record].append(text)
    found = rows(con, f"SELECT record_id, {', '.join(COLUMNS)} FROM lydus.record_label_v0")
    assert {
        record: {name for name, given in zip(COLUMNS.values(), flags, strict=True) if given}
        for record, *flags in found
    } == {record: dx.classes(lines) for record, lines in records.items()}


def test_the_task_has_the_sampled_records_under_opaque_ids(con):
    wanted = rows(con, "SELECT record_id, group_id, part FROM split.lydus WHERE sampled ORDER BY record_id")
    found = rows(
        con, "SELECT record_id, group_id, part, instance_id FROM task.lydus_ecg_image_v0 ORDER BY record_id"
    )
    assert [row[:3] for row in found] == wanted
    for record, *_, instance in found:
        assert instance == hashlib.sha256(f"lydus-ecg-image@0:{record}".encode()).hexdigest()[:12]


def test_reports_agree_with_the_task(con):
    used = Counter()
    names = ", ".join(f'"{name}"' for name in COLUMNS.values())
    for part, scored, *flags in rows(
        con, f"SELECT part, scored, {names} FROM task.lydus_ecg_image_v0 WHERE left_out IS NULL"
    ):
        used[part, "records"] += 1
        used[part, "scored"] += scored
        used.update((part, name) for name, given in zip(COLUMNS.values(), flags, strict=True) if given)
    counts = {
        (part, name): count
        for part, name, count in rows(con, "SELECT part, class, records FROM lydus.class_count_v0")
    }
    assert {key: count for key, count in counts.items() if key[1] != "groups"} == {
        key: count for key, count in used.items() if count
    }
    for view, name in (("acute_mi_source_v0", "Acute MI"), ("sttc_source_v0", "STTC")):
        by_part = Counter()
        for part, count in rows(con, f"SELECT part, records FROM lydus.{view}"):
            by_part[part] += count
        assert by_part == Counter({part: count for (part, label), count in counts.items() if label == name})


def test_a_record_with_two_reasons_counts_once_first_and_twice_any(con):
    both = rows(con, "SELECT record_id FROM lydus.exclusion_v0 GROUP BY record_id HAVING count(*) > 1")
    assert both
    (first,), (excluded,) = (
        rows(
            con,
            "SELECT sum(first_records) FROM lydus.attrition_v0 WHERE reason IN ('no_analysis', 'flat_signal')",
        ),
        rows(con, "SELECT count(DISTINCT record_id) FROM lydus.exclusion_v0"),
    )
    assert first == excluded
    (anys,) = rows(
        con, "SELECT sum(any_records) FROM lydus.attrition_v0 WHERE reason IN ('no_analysis', 'flat_signal')"
    )
    assert anys[0] == excluded[0] + len(both)


def test_agreement_is_counted_over_the_release(con):
    (records,) = rows(con, "SELECT count(*) FROM raw_lydus.record")[0]
    named = {row["class"] for row in map_rows("lydus_reviewed") if row["class"]}
    found = rows(con, "SELECT class, records, label_only, column_only, agreement FROM lydus.agreement_v0")
    assert {name for name, *_ in found} == named
    for _, total, label_only, column_only, agreement in found:
        assert total == records
        assert agreement == 1 - (label_only + column_only) / records


@pytest.mark.parametrize("view", REPORTS)
def test_every_report_has_rows(con, view):
    assert rows(con, f"SELECT * FROM {view}")


@pytest.mark.parametrize("view", AUDITS)
def test_every_audit_passes(con, view):
    assert rows(con, f"SELECT * FROM {view}") == []


def test_most_lines_are_mapped_and_the_rest_is_told(con, capsys):
    (lines, left) = rows(
        con,
        "SELECT count(*), count(*) FILTER (unmapped_words > 0) FROM lydus.line_verdict_v0 "
        "WHERE verdict NOT IN ('comparison', 'remark', 'empty')",
    )[0]
    (told,) = rows(con, "SELECT sum(lines) FROM lydus.unmapped_line_v0")[0]
    assert told == left
    with capsys.disabled():
        print(f"\nsynthetic release: {lines - left:,} of {lines:,} lines mapped ({1 - left / lines:.1%})")
    assert left / lines <= 0.05


def test_without_typos_98_of_100_lines_are_mapped(tmp_path):
    from warehouse.load.lydus import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_lydus_release

    write_lydus_release(tmp_path / "release", records=1_500, seed=4, signals=False)
    home = Home(tmp_path / "data")
    load(home, tmp_path / "release")
    materialize(home)
    query = "SELECT count(*), count(*) FILTER (unmapped_words > 0) FROM lydus.line_verdict_v0"
    (lines, left) = rows(connect(home), query)[0]
    assert lines > 5_000
    assert 0 < left <= 0.02 * lines


def test_one_thread_and_two_threads_build_identical_bytes(lydus_home: Home, tmp_path):
    import shutil

    from warehouse.materialize import materialize

    found = []
    for threads in (1, 2):
        home = Home(tmp_path / str(threads))
        shutil.copytree(lydus_home.raw, home.raw, symlinks=True)
        build = materialize(home, threads=threads)
        found.append({name: entry["sha256"] for name, entry in build.manifest["views"].items()})
    assert "task.lydus_ecg_image_v0" in found[0]
    assert found[0] == found[1]
