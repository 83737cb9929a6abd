"""Folders of headers: what the Challenge's own tool reads, and where it breaks off."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from pipelines.folders import labels_of, score_folders
from warehouse.errors import InputError, UsageError


def write(folder: Path, headers: dict[str, str | bytes | None]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for record, text in headers.items():
        path = folder / f"{record}.hea"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def header(record: str, names: list[str] | None) -> str:
    line = "" if names is None else f"# Labels: {', '.join(names)}\n"
    return f"{Path(record).name} 0 500 5000\n{line}"


def made(lists: dict, raw: dict | None) -> dict[str, str]:
    return raw or {record: header(record, names) for record, names in lists.items()}


def test_every_golden_folder(shared, tmp_path):
    cases = json.loads((shared / "golden/challenge2024/scorer_golden.json").read_text())["cases"]
    errors = []
    for case in cases:
        place = tmp_path / case["name"]
        sides = [
            write(place / side, made(case[side], case.get(f"raw_{side}_headers")))
            for side in ("reference", "output")
        ]
        expected = case["expected"]
        if expected["error"] is not None:
            with pytest.raises(InputError):
                score_folders(*sides)
            errors.append(case["name"])
            continue
        found = score_folders(*sides)
        assert found.as_json() == {"macro_f": expected["macro_f"], "classes": expected["per_class_f"]}, place
        assert math.isnan(found.result.macro) == expected["macro_is_nan"]
        written = "".join(f"{name}\t{value!r}\n" for name, value in found.result.classes.items())
        assert written == expected["cli_per_class_file"], place
    assert len(cases) >= 31
    assert {"reference_header_starts_with_comment", "no_records"} <= {*errors}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# Labels: a, b c", ["a", "b c"]),
        ("# Labels:a,b", ["a", "b"]),
        ("# Labels:\ta \t,  b  ", ["a", "b"]),
        ("# Labels: a\n# Age: 60\n# Labels: b", ["a", "b"]),
        ("# Labels:", [""]),
        ("# Labels:   ", [""]),
        ("# Labels: a,", ["a", ""]),
        ("# Labels: ,a", ["", "a"]),
        ("# Labels: a; b", ["a; b"]),
        ("# Labels: ['a', 'b']", ["['a'", "'b']"]),
        ("# Labels: a\x0b# Labels: b", ["a\x0b# Labels: b"]),
        ("", []),
        *((line, []) for line in ("#Labels: a", "# labels: a", " # Labels: a", "# Label: a", "## Labels: a")),
        *((line, []) for line in ("#  Labels: a", "# Labels : a", "x # Labels: a", "#\tLabels: a")),
    ],
)
def test_which_lines_and_names_are_read(text, names):
    assert labels_of(text) == names


def score(tmp_path, reference, output):
    return score_folders(write(tmp_path / "ref", reference), write(tmp_path / "out", output))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path, end):
    text = end.join(["r1 0 500 5000", "# Labels: a", "# Labels: b", ""])
    found = score(tmp_path, {"r1": text}, {"r1": f"# Labels: a{end}"})
    assert found.as_json() == {"macro_f": 0.5, "classes": {"a": 1.0, "b": 0.0}}
    assert found.warnings == ()


def test_the_place_below_the_folder_counts(tmp_path):
    reference = {record: header(record, [record[-1]]) for record in ("x/a", "y/b", "c")}
    output = {"x/a": header("a", ["a"]), "b": header("b", ["b"]), "c": header("c", ["c"]), "d": "no header"}
    found = score(tmp_path, reference, output)
    assert found.as_json()["classes"] == {"a": 1.0, "b": 0.0, "c": 1.0}
    assert found.warnings == ("output: 1 headers (y/b.hea): no file, scored as predicting nothing",)
    assert (found.records, found.scored) == (3, 3)


def test_other_files_are_no_headers(tmp_path):
    write(tmp_path / "ref", {"r1": header("r1", ["a"])})
    for name in ("r2.HEA", "r3.hea.txt", ".hea", "r4.dat"):
        (tmp_path / "ref" / name).write_text("# Labels: b")
    assert score(tmp_path, {}, {"r1": header("r1", ["a"])}).as_json()["classes"] == {"a": 1.0}


def test_nothing_predicted_is_null(tmp_path):
    found = score(tmp_path, {"r1": header("r1", ["a"])}, {"r1": header("r1", None)})
    assert found.as_json() == {"macro_f": None, "classes": {}}
    assert "undefined" in found.as_text()


@pytest.mark.parametrize(
    "text",
    [
        "# Labels: a\nr1 0 500 5000\n",
        "",
        "\nr1 0 500 5000\n# Labels: a",
        "r1\n# Labels: a",
        "r1 two 500\n",
        "# 0 1\n",
    ],
)
def test_a_reference_header_without_a_record_line_at_the_top(tmp_path, text):
    """All of them are named, the sound ones are not."""
    reference = {"ok": header("ok", ["a"]), "sub/bad": text, "worse": "# 1"}
    with pytest.raises(InputError, match="2 headers without a record line") as error:
        score(tmp_path, reference, {"ok": header("ok", ["a"])})
    assert [problem.where for problem in error.value.problems] == ["sub/bad.hea", "worse.hea"]
    assert error.value.exit_code == 1


def test_the_outputs_first_line_does_not_matter(tmp_path):
    found = score(tmp_path, {"r1": header("r1", ["a"])}, {"r1": "# Labels: a"})
    assert found.as_json()["macro_f"] == 1.0


def test_slips_are_told(tmp_path):
    reference = {
        "comma": "comma 0\n# Labels: a,",
        "near": "near 0\n#Labels: a\n# Labels: a",
        "bytes": b"bytes 0\n# Labels: \xff",
    }
    output = {"comma": "# Labels: a,,b", "near": "# labels: a", "bytes": "", "extra": "# Labels: a,"}
    found = score(tmp_path, reference, output)
    assert found.as_json()["classes"] == {"": 1.0, "a": 2 / 3}
    assert found.warnings == (
        "reference: 1 headers (comma.hea): a stray comma; the empty name is a class of its own",
        "reference: 1 headers (bytes.hea): no UTF-8 text, read as no labels",
        "reference: 1 headers (near.hea): a line that is nearly '# Labels:' and not read",
        "output: 1 headers (comma.hea): a stray comma; the empty name counts only where it is a class",
        "output: 1 headers (near.hea): a line that is nearly '# Labels:' and not read",
    )


def test_many_slips_name_ten(tmp_path):
    reference = {f"r{n:02d}": f"r{n:02d} 0\n# Labels: a" for n in range(12)}
    (warning,) = score(tmp_path, reference, {"r00": "# Labels: a"}).warnings
    assert warning.startswith("output: 11 headers (r01.hea, r02.hea,")
    assert "r10.hea, …)" in warning


def test_folders_that_are_not_there(tmp_path):
    sound = write(tmp_path / "ref", {"r1": header("r1", ["a"])})
    for pair in ((sound, tmp_path / "absent"), (tmp_path / "absent", sound), (sound, sound / "r1.hea")):
        with pytest.raises(UsageError, match="found no folder"):
            score_folders(*pair)
    with pytest.raises(InputError, match="found no header"):
        score_folders(write(tmp_path / "empty", {}), sound)


def test_the_command_prints_json_alone(tmp_path):
    reference = write(tmp_path / "ref", {"r1": header("r1", ["a"]), "r2": header("r2", ["b"])})
    output = write(tmp_path / "out", {"r1": "# Labels: a,"})
    done = CliRunner().invoke(cli.main, ["score-folders", str(reference), str(output), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"macro_f": 0.5, "classes": {"a": 1.0, "b": 0.0}}
    assert "stray comma" in done.stderr
    assert "no file" in done.stderr
    words = CliRunner().invoke(cli.main, ["score-folders", str(reference), str(output)])
    assert "macro F 0.5000" in words.stdout
    empty = write(tmp_path / "none", {})
    assert json.loads(
        CliRunner().invoke(cli.main, ["score-folders", str(reference), str(empty), "--json"]).stdout
    ) == {
        "macro_f": None,
        "classes": {},
    }
    assert CliRunner().invoke(cli.main, ["score-folders", str(empty), str(output)]).exit_code == 1
    assert CliRunner().invoke(cli.main, ["score-folders", str(reference), "absent"]).exit_code == 2
