"""What `--json` prints is what its schema says, key by key, and a schema moves only with its version."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

import cli
from pipelines.bundle.stage import bundle
from pipelines.export import export
from warehouse.contracts import CONTRACTS, schema_name, stamped
from warehouse.home import Home
from warehouse.task import read_task

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "registry" / "json"
LYDUS, VITALDB, BEATS = "lydus-ecg-image", "vitaldb-arrhythmia-abnormal", "ecg-heartbeat-interpatient"


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}-v{CONTRACTS[name]}.json").read_text(encoding="utf-8"))


def digests() -> dict[str, str]:
    files = sorted(SCHEMAS.glob("*-v*.json"))
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_schema_moves_only_with_its_version():
    lock = json.loads((SCHEMAS / "lock.json").read_text(encoding="utf-8"))
    assert digests() == lock, "a schema changed: write the next version beside it, and lock that"


def test_every_command_s_newest_schema_is_written_today():
    newest: dict[str, int] = {}
    for stem in digests():
        name, _, version = stem.rpartition("-v")
        newest[name] = max(newest.get(name, 0), int(version))
    assert newest == CONTRACTS
    stamps = re.findall(r'stamped\(\s*"([a-z-]+)"', (ROOT / "cli.py").read_text(encoding="utf-8"))
    assert set(stamps) | {"bundle", "diff", "export"} == set(CONTRACTS)


@pytest.mark.parametrize("stem", sorted(digests()))
def test_a_schema_is_one_and_says_its_name(stem):
    written = json.loads((SCHEMAS / f"{stem}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(written)
    name, _, version = stem.rpartition("-v")
    assert written["$id"] == f"urn:leadhouse:{name}:{version}"
    assert written["properties"]["schema"] == {"const": f"leadhouse/{name}/{version}"}
    assert "schema" in written["required"]


def undocumented(value: object, node: dict, root: dict, place: str = "") -> Iterator[str]:
    """Keys of an answer that its schema does not name; an object without named keys is free."""
    while "$ref" in node:
        node = root["$defs"][node["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        named, others = node.get("properties", {}), node.get("additionalProperties")
        for key, each in value.items():
            if key in named:
                yield from undocumented(each, named[key], root, f"{place}.{key}")
            elif isinstance(others, dict):
                yield from undocumented(each, others, root, f"{place}.{key}")
            elif named and "more columns" not in node.get("description", ""):
                yield f"{place}.{key}"
    elif isinstance(value, list) and "items" in node:
        for each in value:
            yield from undocumented(each, node["items"], root, f"{place}[]")


def holds(name: str, answer: dict) -> dict:
    found = schema(name)
    assert answer["schema"] == schema_name(name)
    assert next(iter(answer)) == "schema"
    jsonschema.Draft202012Validator(found).validate(answer)
    assert set(undocumented(answer, found, found)) == set()
    return answer


def run(*args: object, home: Home, code: int = 0) -> dict:
    args = [*map(str, args), "--data", str(home.path), "--json"]
    result = CliRunner().invoke(cli.main, args, catch_exceptions=False)
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def test_counts(synthetic_home, lydus_home, heartbeat_home):
    for home, task in ((synthetic_home, VITALDB), (lydus_home, LYDUS), (heartbeat_home, BEATS)):
        assert holds("counts", run("counts", task, home=home))["parts"]
    assert holds("counts", run("counts", VITALDB, "--by", "sex", home=synthetic_home))["groups"]


def test_counts_of_a_reviewed_task(synthetic_home, tmp_path):
    home = Home(tmp_path / "data")
    home.path.mkdir()
    (home.path / "raw").mkdir()
    for loaded in synthetic_home.raw.iterdir():
        if not loaded.name.startswith("."):
            (home.path / "raw" / loaded.name).symlink_to(loaded.resolve())
    (home.path / "built").symlink_to(synthetic_home.built.resolve())
    task = read_task(home, VITALDB)
    one = task.instances.filter(task.instances["scored"])["instance_id"][0]
    arguments = [
        "review",
        "add",
        VITALDB,
        one,
        "abnormal",
        "--agree",
        "--reader",
        "R1",
        "--data",
        str(home.path),
    ]
    made = CliRunner().invoke(cli.main, arguments, catch_exceptions=False)
    assert made.exit_code == 0, made.stderr
    assert holds("counts", run("counts", VITALDB, home=home))["agreement"][0]["reader"] == "R1"


def test_materialize(synthetic_home):
    assert holds("materialize", run("materialize", home=synthetic_home))["views"]
    assert holds("materialize-check", run("materialize", "--check", home=synthetic_home))["differences"] == []


def test_diff(synthetic_home, heartbeat_home, lydus_home, tmp_path):
    map_file = tmp_path / "dx_hedge.csv"
    lines = (
        (ROOT / "registry" / "maps" / "dx_hedge.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    )
    map_file.write_text("".join(line for line in lines if not line.startswith("possible,")), encoding="utf-8")
    cases = (
        (synthetic_home, ("vitaldb.normal_context@0", "@1")),
        (synthetic_home, ("vitaldb.normal_context@0", "@2", "--max-flips", "100%")),
        (synthetic_home, ("vitaldb.normal_context@0", "@0")),
        (heartbeat_home, (f"{BEATS}@0", "@1")),
        (lydus_home, ("map.dx_hedge", map_file)),
    )
    answers = [holds("diff", run("diff", *args, home=home)) for home, args in cases]
    assert any(answer["flips"] for answer in answers)
    assert any(answer["moves"] for answer in answers)
    assert any(answer["rows"] for answer in answers)
    assert any(answer["budget"] for answer in answers)


def test_whatif(synthetic_home, lydus_home, tmp_path):
    map_file = tmp_path / "dx_hedge.csv"
    map_file.write_bytes((ROOT / "registry" / "maps" / "dx_hedge.csv").read_bytes())
    for home, args in (
        (synthetic_home, (VITALDB, "--set", "normal_context_s=30")),
        (synthetic_home, (VITALDB, "--accept", "premature")),
        (lydus_home, (LYDUS, "--accept", "hedged")),
        (lydus_home, (LYDUS, "--refuse", "code")),
        (lydus_home, (LYDUS, "--map", map_file)),
    ):
        assert holds("whatif", run("whatif", *args, home=home))["changed"]


@pytest.mark.parametrize(
    ("fixture", "task"),
    [
        ("synthetic_home", VITALDB),
        ("lydus_home", LYDUS),
        ("heartbeat_home", BEATS),
        ("heartbeat_home", "ecg-heartbeat-mi"),
    ],
)
def test_why(request, fixture, task):
    home = request.getfixturevalue(fixture)
    ids = read_task(home, task).instances["instance_id"].to_list()
    for one in ids[:: max(len(ids) // 5, 1)]:
        assert holds("why", run("why", task, one, home=home))["instance"] == one


def test_files_that_name_a_schema(lydus_home, tmp_path):
    import zipfile

    made = bundle(lydus_home, LYDUS, tmp_path)
    with zipfile.ZipFile(made.file) as file:
        holds("bundle", json.loads(file.read("index.json")))
    for kind in ("csv", "wfdb"):
        export(lydus_home, LYDUS, tmp_path / kind, format=kind)
        holds("export", json.loads((tmp_path / kind / "classes.json").read_text(encoding="utf-8")))


def test_a_key_that_no_schema_names_is_found():
    answer = stamped("counts", {"task": "a@0", "parts": {}, "notes": [], "more": 1})
    assert list(undocumented(answer, schema("counts"), schema("counts"))) == [".more"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema("counts")).validate({**answer, "parts": {"tests": {}}})
