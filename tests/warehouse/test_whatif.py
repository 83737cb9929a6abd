"""`whatif`: other verdicts, maps and constants, each against something that is counted otherwise."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli import main
from warehouse.counts import count
from warehouse.errors import UsageError
from warehouse.flips import compare
from warehouse.home import Home
from warehouse.maps import map_files, map_rows
from warehouse.query import connect
from warehouse.variant import Variant
from warehouse.views import Catalog
from warehouse.whatif import Answer, what_if

VITALDB = "vitaldb-arrhythmia-abnormal"
LYDUS = "lydus-ecg-image"


def gains(answer: Answer) -> dict[tuple[str, str], int]:
    """(part, class) → how many used records more have it, by the answer's JSON."""
    found = answer.as_json()
    return {
        (part, name): entry["classes"][name] - found["before"]["parts"][part]["classes"][name]
        for part, entry in found["after"]["parts"].items()
        for name in entry["classes"]
        if entry["classes"][name] != found["before"]["parts"][part]["classes"][name]
    }


def test_hedged_is_what_hedged_would_add_counts(hedged_home: Home):
    wanted = {
        (part, name): records
        for part, name, records in connect(hedged_home)
        .execute("SELECT part, class, records FROM lydus.hedged_would_add_v0")
        .fetchall()
    }
    assert wanted
    answer = what_if(hedged_home, LYDUS, accept=["hedged"])
    assert gains(answer) == wanted
    assert answer.changed == [
        {
            "accept": "hedged",
            "reasons": [row["reason"] for row in map_rows("lydus_reason") if row["family"] == "hedged"],
            "views": ["lydus.class_evidence_v0"],
        }
    ]


def test_the_seed_s_hedges_alone(hedged_home: Home):
    wanted = {
        (part, name): records
        for part, name, records in connect(hedged_home)
        .execute("SELECT part, class, seed_records FROM lydus.hedged_would_add_v0 WHERE seed_records > 0")
        .fetchall()
    }
    assert gains(what_if(hedged_home, LYDUS, accept=["hedged_seed"])) == wanted


def test_a_joined_reason_falls_when_all_its_parts_do(hedged_home: Home):
    """Counted in Python from the evidence rows: a row is accepted when every part of its reason is."""
    rows = (
        connect(hedged_home)
        .execute(
            """
            SELECT used.part, used.record_id, evidence.class, evidence.reason
            FROM task.lydus_ecg_image_v0 AS used
            INNER JOIN lydus.class_evidence_v0 AS evidence ON used.record_id = evidence.record_id
            WHERE used.left_out IS NULL AND evidence.kind = 'candidate'
            """
        )
        .fetchall()
    )
    assert any(
        reason and set(reason.split(" + ")) == {"serial_comparison", "hedged_seed"} for *_, reason in rows
    )

    def by_rule(accepted: set[str]) -> Counter:
        given = {
            (part, record, name)
            for part, record, name, reason in rows
            if reason is None or set(reason.split(" + ")) <= accepted
        }
        acute = {record for _, record, name, reason in rows if name == "Acute MI" and reason is None}
        return Counter(
            (part, name) for part, record, name in given if name != "Old MI" or record not in acute
        )

    for reasons in (
        ["serial_comparison"],
        ["serial_comparison", "hedged_seed"],
        ["serial_comparison", "hedged"],
    ):
        family = [row["reason"] for row in map_rows("lydus_reason") if row["family"] in reasons]
        before, after = by_rule(set()), by_rule({*reasons, *family})
        assert gains(what_if(hedged_home, LYDUS, accept=reasons)) == {
            key: number - before[key] for key, number in after.items() if number != before[key]
        }


def test_an_exclusion_that_is_lifted_leaves_nothing_out(hedged_home: Home):
    left_out = (
        connect(hedged_home)
        .execute("SELECT count(*) FROM task.lydus_ecg_image_v0 WHERE left_out = 'no_analysis'")
        .fetchone()[0]
    )
    answer = what_if(hedged_home, LYDUS, accept=["no_analysis"])
    assert answer.changed[0]["views"] == ["lydus.exclusion_v0"]
    found = answer.as_json()
    gone = sum(
        found[side]["parts"][part]["left_out"] * sign
        for part in found["before"]["parts"]
        for side, sign in (("before", 1), ("after", -1))
    )
    assert (found["flips"], gone) == (0, left_out)
    assert found["moves"] == left_out > 0


def test_a_refused_rule_gives_nothing(hedged_home: Home):
    found = what_if(hedged_home, LYDUS, refuse=["code"]).as_json()
    for part in found["after"]["parts"].values():
        assert {name for name, number in part["classes"].items() if number} <= {"NORM", "Acute MI"}
    assert found["flips"] > 0


def test_acceptance_and_refusal_together(synthetic_home: Home):
    """What is refused stays refused, whatever is accepted."""
    alone = what_if(synthetic_home, VITALDB, refuse=["normal_context"]).as_json()
    both = what_if(
        synthetic_home, VITALDB, accept=["short_run", "premature"], refuse=["normal_context"]
    ).as_json()
    assert alone["after"] == both["after"] != alone["before"]
    assert all(part["scored"] == part["classes"]["abnormal"] for part in both["after"]["parts"].values())


def test_a_map_in_place_of_the_registry_s(hedged_home: Home, tmp_path: Path):
    """Without a hedge, what stood behind it counts: the records that its acceptance would give."""
    file = tmp_path / "dx_hedge.csv"
    rows = map_files()["dx_hedge"].read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(row for row in rows if not row.startswith("possible,")), encoding="utf-8")
    answer = what_if(hedged_home, LYDUS, maps=[file])
    assert answer.changed == [{"map": "dx_hedge", "file": str(file)}]
    one, all_of_them = gains(answer), gains(what_if(hedged_home, LYDUS, accept=["hedged"]))
    assert one
    assert all(0 < number <= all_of_them[key] for key, number in one.items())


def test_a_constant_in_every_view_that_has_it(synthetic_home: Home):
    answer = what_if(synthetic_home, VITALDB, constants=["max_annotation_gap_s=3"])
    assert [(entry["view"], entry["from"], entry["to"]) for entry in answer.changed] == [
        ("vitaldb.annotation_gap_v0", "10", "3"),
        ("vitaldb.normal_context_v0", "10", "3"),
    ]
    catalog = Catalog.read()
    texts = {
        name: catalog[name].sql.replace("10 AS max_annotation_gap_s", "3 AS max_annotation_gap_s")
        for name in ("vitaldb.annotation_gap_v0", "vitaldb.normal_context_v0")
    }
    wanted = compare(synthetic_home, VITALDB, Variant(), Variant(texts), evidence=False)
    assert answer.as_json()["after"] == wanted.after.as_json()
    assert wanted.flip_count == answer.as_json()["flips"] > 0


def test_a_value_that_is_there_already_changes_nothing(synthetic_home: Home):
    answer = what_if(synthetic_home, VITALDB, constants=["normal_context_s=45"])
    assert answer.as_json()["flips"] == 0
    assert "normal_context_s stayed 45" in answer.as_text()


def test_a_reason_and_a_constant_are_one_question(synthetic_home: Home):
    """Rows that only the other constant refuses are accepted too."""
    one = what_if(synthetic_home, VITALDB, accept=["short_run"]).as_json()
    both = what_if(
        synthetic_home, VITALDB, accept=["short_run"], constants=["normal_context_s=1000"]
    ).as_json()
    assert both["after"] == one["after"]


def test_a_known_reason_that_refuses_nothing_here(synthetic_home: Home):
    answer = what_if(synthetic_home, VITALDB, accept=["missing_ecg"])
    assert answer.as_json()["flips"] == 0
    assert answer.changed[0]["views"] == []
    assert "no row here is refused for that alone" in answer.as_text()


def test_today_is_what_counts_says(synthetic_home: Home):
    found = what_if(synthetic_home, VITALDB, accept=["premature"]).as_json()
    assert found["before"] == count(synthetic_home, VITALDB).as_json()
    whole = found["with_left_out"]
    used = {
        side: sum(part["scored"] for part in found[side]["parts"].values()) for side in ("before", "after")
    }
    assert (
        found["flips"]
        == whole["after"]["scored"] - whole["before"]["scored"]
        >= used["after"] - used["before"]
    )


def test_text_says_both_counts_and_the_difference(synthetic_home: Home):
    answer = what_if(synthetic_home, VITALDB, accept=["premature"])
    found, text = answer.as_json(), answer.as_text()
    before, after = (found["with_left_out"][side] for side in ("before", "after"))
    old, new = (
        before["scored"] - before["classes"]["abnormal"],
        after["scored"] - after["classes"]["abnormal"],
    )
    (line,) = (line for line in text.splitlines() if line.startswith("not abnormal"))
    assert line.endswith(f"{old:,} → {new:,} ({new - old:+,})")
    assert f"flips: {found['flipped']:,} of " in text


def test_flips_are_written_with_their_evidence(synthetic_home: Home, tmp_path: Path):
    import duckdb

    file = tmp_path / "flips.parquet"
    found = what_if(synthetic_home, VITALDB, accept=["premature"], flips=file).as_json()
    ((flips, unexplained),) = duckdb.sql(
        f"SELECT count(DISTINCT instance_id), count(*) FILTER (evidence_words IS NULL) FROM '{file}'"
    ).fetchall()
    assert (flips, unexplained) == (found["flipped"], 0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "found no change to ask for"),
        (
            {"accept": ["prematur"]},
            r"no reason 'prematur'; expected one of those that occur:\n  - .*\([0-9,]+ rows of",
        ),
        (
            {"refuse": ["gap"]},
            r"no rule of candidates 'gap'; .*:\n  - (?s:.*)normal_context \([0-9,]+ rows of",
        ),
        (
            {"constants": ["nothing=1"]},
            r"no constant 'nothing'(?s:.*)normal_context_s = 45 \(vitaldb.normal_context_v0",
        ),
        ({"constants": ["normal_context_s=long"]}, "expected a number"),
        ({"constants": ["normal_context_s"]}, "expected NAME=VALUE"),
        (
            {"constants": ["normal_context_s=1", "normal_context_s=2"]},
            "found two values for normal_context_s",
        ),
        ({"constants": ["grid_s=2.5"]}, "the views cannot work with this: vitaldb.segment_v0"),
        ({"maps": [Path("dx_hedge.csv")]}, "found a map that the task does not read(?s:.*)vitaldb_beat.csv"),
        ({"maps": [Path("nothing.csv")]}, "found no map's name"),
        ({"maps": [Path("gone/vitaldb_beat.csv")]}, "cannot be read"),
        ({"accept": ["gap"], "flips": Path("flips.txt")}, "expected one that ends in .parquet or .csv"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(synthetic_home: Home, asked, message):
    with pytest.raises(UsageError, match=message):
        what_if(synthetic_home, VITALDB, **asked)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beat_type,kind\nN,beat\n", "found columns beat_type, kind; expected those of map.vitaldb_beat"),
        ("beat_type,kind,premature,meaning\n", "found a map without rows"),
        ("", "found a map without rows"),
        ("a,b\n1\n", "another number of fields"),
        ("\xff\xfe", "are no UTF-8"),
        (
            "beat_type,kind,premature,note\nN,beat,false,\nS,beat,true,\nN,beat,true,\n",
            "found beat_type 'N' in row 2 and again in row 4; expected it once, as in map.vitaldb_beat",
        ),
        (
            "\xef\xbb\xbfbeat_type,kind,premature,note\nN,beat,false,\n",
            "found a byte-order mark before the header",
        ),
    ],
)
def test_a_file_that_is_no_such_map(synthetic_home: Home, tmp_path: Path, text: str, message: str):
    from warehouse.errors import LeadhouseError

    file = tmp_path / "vitaldb_beat.csv"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(LeadhouseError, match=message) as caught:
        what_if(synthetic_home, VITALDB, maps=[file])
    assert caught.value.exit_code == 2


def test_the_command(synthetic_home: Home):
    before = sorted((path, path.lstat().st_mtime_ns) for path in synthetic_home.path.rglob("*"))
    done = CliRunner().invoke(
        main,
        [
            "whatif",
            VITALDB,
            "--accept",
            "premature",
            "--set",
            "normal_context_s=30",
            "--json",
            "--data",
            str(synthetic_home.path),
        ],
    )
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert [next(iter(entry)) for entry in found["changed"]] == ["accept", "set"]
    assert found["flips"] > 0
    unknown = CliRunner().invoke(
        main, ["whatif", VITALDB, "--set", "x=1", "--data", str(synthetic_home.path)]
    )
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "normal_context_s = 45" in unknown.stderr
    assert sorted((path, path.lstat().st_mtime_ns) for path in synthetic_home.path.rglob("*")) == before


def test_the_spec_s_hedges_alone_as_a_second_version(hedged_home: Home):
    """lydus.dx_finding@1 in the place of @0, on every record: each flip is one that the other hedges alone keep back.

    What the second version gains is what `--accept` of their reason gains, but for a finding after "or", which is an
    alternative once the one before it is stated outright.
    """
    catalog = Catalog.read()
    version = Variant({"lydus.dx_finding_v0": catalog["lydus.dx_finding_v1"].sql})
    found = compare(hedged_home, LYDUS, Variant(), version)
    assert found.unexplained() == []
    flips = {(flip["instance_id"], flip["class"]): flip for flip in found.flips()}
    assert all((flip["before"], flip["after"]) == (False, True) for flip in flips.values())
    assert {row["side"] for flip in flips.values() for row in flip["evidence"]} == {"after"}
    assert {name for _, name in flips} == {"HYP", "Old MI"}
    refused = {
        (instance, name)
        for instance, name in connect(hedged_home)
        .execute(
            """
            SELECT used.instance_id, evidence.class
            FROM task.lydus_ecg_image_v0 AS used
            INNER JOIN lydus.class_evidence_v0 AS evidence ON used.record_id = evidence.record_id
            INNER JOIN lydus.record_label_v0 AS label ON used.record_id = label.record_id
            WHERE evidence.kind = 'candidate' AND evidence.reason = 'hedged_clinical'
            AND NOT CASE evidence.class WHEN 'HYP' THEN label.hyp WHEN 'Old MI' THEN label.old_mi OR label.acute_mi END
            """
        )
        .fetchall()
    }
    assert set(flips) == refused
    accepted = what_if(hedged_home, LYDUS, accept=["hedged_clinical"]).as_json()
    assert accepted["flips"] == found.flip_count > 0
    assert accepted["after"]["parts"] == found.after.as_json()["parts"]
