"""``why``: the answer for one instance, from its why view and in words, and what is said where there is none."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from edited_map import edit_map

from cli import main
from warehouse.errors import HomeError, UsageError
from warehouse.home import Home
from warehouse.materialize import materialize
from warehouse.query import connect
from warehouse.spec import find_spec, specs
from warehouse.why import reasons, why
from warehouse.why_text import as_text
from warehouse.why_view import CONTRACT, why_view

VITALDB, LYDUS, BEATS = "vitaldb-arrhythmia-abnormal@0", "lydus-ecg-image@0", "ecg-heartbeat-balanced@0"
HOMES = {
    "signal_home": [VITALDB],
    "lydus_home": [LYDUS],
    "ptbxl_home": ["cinc2024-ptbxl-image@0"],
    "heartbeat_home": [spec.name for spec in specs() if spec.slug.startswith("ecg-heartbeat")],
}
CASES = [(home, task) for home, tasks in HOMES.items() for task in tasks]


def rows(home: Home, query: str) -> list[tuple]:
    return connect(home).execute(query).fetchall()


def one(home: Home, query: str) -> str:
    ((found,),) = rows(home, query)
    return found


def run(home: Home, *words: str):
    return CliRunner().invoke(main, ["why", *words, "--data", str(home.path)])


@pytest.mark.parametrize(("home", "task"), CASES)
def test_one_record_gives_the_rows_of_the_whole_view(request, home, task):
    """An instance of every kind of evidence: what is read for one record is what stands in the view."""
    home, spec = request.getfixturevalue(home), find_spec(task)
    con = connect(home)
    con.execute(f"CREATE TABLE why AS SELECT * FROM {why_view(spec)}")
    picked = con.execute(
        "SELECT DISTINCT min(instance_id) FROM why GROUP BY kind, class, rule, reason ORDER BY ALL"
    ).fetchall()
    assert len(picked) > 1
    for (instance,) in picked[:12]:
        found = why(home, task, instance)
        shown = con.execute(
            "SELECT * EXCLUDE (instance_id, record_id) FROM why WHERE instance_id = ?"
            " ORDER BY kind, class, source_no, evidence",
            [instance],
        )
        names = [column[0] for column in shown.description]
        wanted = [dict(zip(names, row, strict=True)) for row in shown.fetchall()]
        assert set(names) >= set(CONTRACT) - {"instance_id", "record_id"}
        for name, each in found.classes.items():
            of_class = [row for row in wanted if row["class"] in (name, "any")]
            candidates = [row for row in of_class if row["kind"] == "candidate"]
            assert each.accepted == [row for row in candidates if row["accepted"]]
            assert each.refused == [row for row in candidates if not row["accepted"]]
            assert each.excluded_by == [row for row in of_class if row["kind"] == "exclusion"]
            assert not (each.has and each.excluded_by), "what stands excludes"
            assert each.has or each.nearest is None or each.against or found.left_out_by
        assert found.left_out_by == [row for row in wanted if row["kind"] == "left_out"]
        task_row = con.execute(f"SELECT * FROM {spec.view} WHERE instance_id = ?", [instance])
        columns = [column[0] for column in task_row.description]
        task_row = dict(zip(columns, task_row.fetchall()[0], strict=True))
        assert {name for name in spec.classes if found.classes[name].has} == {
            name for name in spec.classes if task_row[name]
        }


def test_the_nearest_has_the_fewest_reasons_then_the_first_place(lydus_home):
    query = f"""SELECT instance_id, class FROM {why_view(find_spec(LYDUS))}
        WHERE kind = 'candidate' GROUP BY ALL HAVING count(*) > 1 AND NOT bool_or(accepted)"""
    found = rows(lydus_home, query)
    assert found
    for instance, name in found[:5]:
        each = why(lydus_home, LYDUS, instance, name).classes[name]
        fewest = min(len(reasons(row)) for row in each.refused)
        assert len(reasons(each.nearest)) == fewest
        assert each.nearest["source_no"] == min(
            row["source_no"] for row in each.refused if len(reasons(row)) == fewest
        )


def test_json_has_the_documented_structure(lydus_home):
    instance = one(lydus_home, 'SELECT instance_id FROM task.lydus_ecg_image_v0 WHERE "Acute MI" LIMIT 1')
    done = run(lydus_home, LYDUS, instance, "--json")
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert list(answer) == [
        "schema", "task", "instance", "record", "group", "part", "place", "scored", "left_out", "left_out_by",
        "classes", "other", "views",
    ]  # fmt: skip
    assert list(answer["classes"]) == list(find_spec(LYDUS).classes)
    for each in answer["classes"].values():
        assert list(each) == ["has", "accepted", "refused", "excluded_by", "nearest"]
    old, acute = answer["classes"]["Old MI"], answer["classes"]["Acute MI"]
    assert (acute["has"], acute["nearest"], old["has"]) == (True, None, False)
    assert old["nearest"]["reasons"][-1] == "acute_mi"
    (line,) = {row["said"] for row in acute["accepted"]}
    assert line in old["excluded_by"][0]["words"]
    catalog = {name: value for name, value in answer["views"].items() if len(value) == 64}
    assert {"task.lydus_ecg_image_v0", "task.lydus_ecg_image_why_v0", "lydus.class_evidence_v0"} <= set(
        catalog
    )


def test_fingerprints_are_those_of_views(lydus_home):
    from warehouse.fingerprints import rule_fingerprints
    from warehouse.views import Catalog

    instance = one(lydus_home, "SELECT min(instance_id) FROM task.lydus_ecg_image_v0")
    found = why(lydus_home, LYDUS, instance)
    rules = rule_fingerprints(Catalog.read())
    assert found.views == {name: rules[name] for name in found.views}
    assert found.stale == []


def test_text_names_file_and_line_of_what_counts_and_of_what_does_not(synthetic_home):
    home = synthetic_home
    instance = one(
        home,
        "SELECT min(instance_id) FROM task.vitaldb_arrhythmia_abnormal_why_v0 WHERE rule = 'premature'"
        " AND instance_id NOT IN (SELECT instance_id FROM task.vitaldb_arrhythmia_abnormal_v0 WHERE scored)",
    )
    done = run(home, VITALDB, instance)
    assert done.exit_code == 0
    text = done.stdout
    assert f"instance {instance}" in text
    assert "normal: no (" in text
    assert "premature" in text
    assert "No candidate for: abnormal" in text
    row = why(home, VITALDB, instance, "normal").classes["normal"].excluded_by[0]
    assert f"{row['source_file']} line" in text
    raw = rows(
        home,
        f"SELECT beat_type FROM raw_vitaldb.annotation WHERE source_file = '{row['source_file']}'"
        f" AND row_no = {row['first_row']}",
    )
    assert row["said"].startswith(f"{raw[0][0]} in line {row['first_row']} at ")


def test_a_class_alone_is_told_whole_and_without_regard_to_case(lydus_home):
    query = 'SELECT min(instance_id) FROM task.lydus_ecg_image_v0 WHERE "STTC"'
    instance = one(lydus_home, query)
    found = why(lydus_home, LYDUS, instance, "sttc")
    assert list(found.classes) == ["STTC"]
    text = as_text(found, whole=True)
    assert "STTC: yes" in text
    assert "No candidate for" not in text


def test_an_instance_is_found_by_its_record_or_by_a_place_in_it(lydus_home, synthetic_home, heartbeat_home):
    ((instance, record),) = rows(
        lydus_home, "SELECT instance_id, record_id FROM task.lydus_ecg_image_v0 ORDER BY ALL LIMIT 1"
    )
    assert why(lydus_home, LYDUS, record).instance["instance_id"] == instance
    ((instance, record, start),) = rows(
        synthetic_home,
        "SELECT instance_id, record_id, start_s FROM task.vitaldb_arrhythmia_abnormal_v0 ORDER BY ALL LIMIT 1",
    )
    assert why(synthetic_home, VITALDB, f"{record}:{start + 4.9}").instance["instance_id"] == instance
    ((instance, record, sample),) = rows(
        heartbeat_home,
        "SELECT instance_id, record_id, sample FROM task.ecg_heartbeat_balanced_v0"
        " WHERE end_sample IS NOT NULL ORDER BY ALL LIMIT 1",
    )
    assert why(heartbeat_home, BEATS, f"{record}:{sample}").instance["instance_id"] == instance


def test_a_record_of_several_instances_lists_them(synthetic_home):
    ((record, number),) = rows(
        synthetic_home,
        "SELECT record_id, count(*) FROM task.vitaldb_arrhythmia_abnormal_v0 GROUP BY ALL ORDER BY ALL LIMIT 1",
    )
    done = run(synthetic_home, VITALDB, str(record))
    assert done.exit_code == 2
    assert f"found {number} instances of record '{record}'; expected one: {record}_" in done.stderr
    assert "…" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("vitaldb-arrhythmia-abnormal@7", "1_0"), "found no task"),
        ((VITALDB, ""), "found no instance ''"),
        ((VITALDB, "x" * 5_000), "found no instance"),
        ((VITALDB, "1:never"), "found no instance '1:never'"),
        ((VITALDB, "'; DROP TABLE x"), "found no instance"),
    ],
)
def test_what_is_not_there_is_an_error_in_words(synthetic_home, words, message):
    done = run(synthetic_home, *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_the_nearest_ids_are_offered(synthetic_home):
    known = one(synthetic_home, "SELECT max(instance_id) FROM task.vitaldb_arrhythmia_abnormal_v0")
    with pytest.raises(UsageError, match=f"the nearest: .*{known}"):
        why(synthetic_home, VITALDB, known + "0")


def test_an_unknown_class_lists_the_classes(synthetic_home, lydus_home):
    known = one(synthetic_home, "SELECT min(instance_id) FROM task.vitaldb_arrhythmia_abnormal_v0")
    with pytest.raises(UsageError, match="found no class 'flutter'; expected one of: abnormal, normal"):
        why(synthetic_home, VITALDB, known, "flutter")
    known = one(lydus_home, "SELECT min(instance_id) FROM task.lydus_ecg_image_v0")
    with pytest.raises(UsageError, match="AFIB/AFL, Acute MI, BRADY"):
        why(lydus_home, LYDUS, known, "any")


def test_a_home_without_the_task_or_with_a_damaged_file_is_an_error(tmp_path, request):
    with pytest.raises(HomeError, match="found no build of"):
        why(Home(tmp_path / "empty"), VITALDB, "1_0")
    from warehouse.load.lydus import load
    from warehouse.synthetic import write_lydus_release

    write_lydus_release(tmp_path / "release", records=20, signals=0)
    home = Home(tmp_path / "data")
    load(home, tmp_path / "release")
    materialize(home)
    known = one(home, "SELECT min(instance_id) FROM task.lydus_ecg_image_v0")
    assert why(home, LYDUS, known).instance["instance_id"] == known
    (file,) = (home.raw / "lydus" / "dx_line").resolve().glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(HomeError, match="dx_line"):
        why(home, LYDUS, known)
    file.unlink()
    with pytest.raises(HomeError, match="dx_line"):
        why(home, LYDUS, known)


def test_evidence_whose_words_moved_says_what_moved(synthetic_home, tmp_path, monkeypatch):
    """The evidence is of the build, its words of the maps and raw tables of now."""
    with connect(synthetic_home) as con:
        (instance,) = con.execute(
            "SELECT min(case_id || '_' || start_s) FROM vitaldb.segment_evidence_v0 WHERE rule = 'premature'"
        ).fetchone()
    assert "premature beat lies in" in as_text(why(synthetic_home, VITALDB, instance))
    edit_map(monkeypatch, tmp_path, "vitaldb_beat", lambda text: text.replace(",beat,true", ",beat,false"))
    found = why(synthetic_home, VITALDB, instance)
    assert found.stale == ["map.vitaldb_beat"]
    assert "- No words: map.vitaldb_beat changed since this was built." in as_text(found)
    assert "None" not in as_text(found)
