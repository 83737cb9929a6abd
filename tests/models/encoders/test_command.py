"""`encoders` and `encoders check`: what they print, with which exit code, and what they do without torch."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from models import encoders
from models.encoders.card import ROOTS
from models.encoders.listing import listed
from tests.house.test_contracts import holds

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def no_root(monkeypatch):
    for variable in ROOTS:
        monkeypatch.delenv(variable, raising=False)


def run(*args: object):
    return CliRunner().invoke(cli.main, ["encoders", *map(str, args)], catch_exceptions=False)


@pytest.fixture(scope="module")
def dummy_file(tmp_path_factory) -> Path:
    torch = pytest.importorskip("torch", reason="needs the extra `train`")
    path = tmp_path_factory.mktemp("checkpoints") / "dummy.pt"
    torch.save(encoders.create("dummy").net.state_dict(), path)
    return path


def test_every_card_is_listed():
    pytest.importorskip("torch", reason="needs the extra `train`")
    answer = holds("encoders", json.loads(run("--json").stdout))
    assert [each["name"] for each in answer["encoders"]] == encoders.names()
    found = {each["name"]: each for each in answer["encoders"]}
    for name, each in found.items():
        card = encoders.card(name)
        assert (each["title"], each["parameters"], each["licence"]) == (
            card.title,
            card.parameters,
            card.licence,
        )
        assert each["fault"] is None
    declared = {key: found["merl"][key] for key in ("chunk_seconds", "model_fs", "feature_dim")}
    assert declared == {"chunk_seconds": 2.5, "model_fs": 500, "feature_dim": 512}
    assert len(found["merl"]["leads"]) == 12
    assert found["ecg_jepa"]["leads"] == ["I", "II", "V1", "V2", "V3", "V4", "V5", "V6"]
    assert found["dummy"]["looked_for"] is None
    text = run().stdout
    for each in found.values():
        assert f"{each['name']}: {each['title']}" in text
    assert "2.5 s at 500 Hz, 12 leads, features of 512, 3,849,345 parameters" in text
    assert "8 leads (I, II, V1, V2, V3, V4, V5, V6)" in text
    assert "none is needed" in text


def place(variable: str, root: Path, monkeypatch) -> Path:
    path = root / encoders.card("merl").file
    path.parent.mkdir(parents=True)
    path.write_bytes(b"a file")
    monkeypatch.setenv(variable, str(root))
    return path


def row(name: str):
    return next(each for each in listed() if each.name == name)


def test_a_checkpoint_is_looked_for_under_the_first_root_that_is_set(tmp_path, monkeypatch):
    file = encoders.card("merl").file
    assert (row("merl").checkpoint, row("merl").looked_for) == (None, f"$LEADHOUSE_CHECKPOINTS/{file}")
    assert "which is not set" in row("merl").as_text()
    theirs = place("ECG_CKPT_ROOT", tmp_path / "theirs", monkeypatch)
    assert row("merl").checkpoint == str(theirs)
    ours = place("LEADHOUSE_CHECKPOINTS", tmp_path / "ours", monkeypatch)
    assert row("merl").checkpoint == str(ours)
    ours.unlink()
    assert row("merl").checkpoint == str(theirs)  # a root that lacks it hides no other
    theirs.unlink()
    assert (row("merl").checkpoint, row("merl").looked_for) == (None, str(ours))
    assert f"not found: {ours}" in row("merl").as_text()


def test_a_file_that_loads_whole(dummy_file):
    result = run("check", "dummy", dummy_file, "--json")
    assert result.exit_code == 0
    answer = holds("encoders-check", json.loads(result.stdout))
    assert answer["ok"]
    assert answer["parameters"] == 7872
    assert len(answer["used"]) == 4
    text = run("check", "dummy", dummy_file)
    assert text.exit_code == 0
    assert "loads whole as dummy" in text.stdout
    assert answer["sha256"] in text.stdout


def test_a_file_of_another_encoder_is_one_with_the_whole_report(dummy_file):
    result = run("check", "merl", dummy_file, "--json")
    assert result.exit_code == 1
    answer = holds("encoders-check", json.loads(result.stdout))
    assert not answer["ok"]
    assert answer["fits"] == ["dummy"]
    assert answer["unexpected"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert "does not load as merl: 4 keys that no rule of the card covers: 0.weight" in result.stderr
    text = run("check", "merl", dummy_file)
    assert text.exit_code == 1
    assert "its keys are those of dummy" in text.stdout


def test_the_shapes_and_kinds_of_a_report_have_their_schema(tmp_path):
    torch = pytest.importorskip("torch", reason="needs the extra `train`")
    state = encoders.create("dummy").net.state_dict()
    state["0.weight"], state["0.bias"] = torch.ones(2, 3), torch.ones(32, dtype=torch.int64)
    state["2.bias"] = state["2.bias"].half()
    torch.save(state, tmp_path / "file.pt")
    result = run("check", "dummy", tmp_path / "file.pt", "--json")
    answer = holds("encoders-check", json.loads(result.stdout))
    assert answer["shapes"] == {"0.weight": {"found": [2, 3], "expected": [32, 12, 7]}}
    assert answer["kinds"] == {"0.bias": {"found": "int64", "expected": "float32"}}
    assert answer["casts"] == {"float16 → float32": ["2.bias"]}


def test_rejected_files_are_one_and_wrong_usage_is_two(dummy_file, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("<html>Sign in</html>")
    cases = (
        (("check", "dummy", tmp_path / "page.html"), 1, "found a web page"),
        (("check", "dummy", tmp_path), 1, "found a folder"),
        (("check", "mrl", dummy_file), 2, "found no encoder 'mrl'; expected one of: "),
        (("check", "dummy", tmp_path / "none.pt"), 2, "dummy: found no checkpoint"),
        (("check", "dummy"), 2, "its card names none"),
        (("check", "merl"), 2, "found no checkpoint, $LEADHOUSE_CHECKPOINTS/merl/"),
        (("check",), 2, "Missing argument"),
        (("fetch",), 2, "No such command"),
    )
    for args, code, words in cases:
        result = run(*args)
        assert (result.exit_code, words in result.stderr) == (code, True), (args, result.stderr)
        assert result.stdout == ""


def test_check_takes_the_file_from_the_root(tmp_path, monkeypatch):
    path = place("ECG_CKPT_ROOT", tmp_path, monkeypatch)
    result = run("check", "merl")
    assert result.exit_code == 1
    assert f"{path}: found text ('a file')" in result.stderr


WITHOUT = """
import sys
for name in {names!r}:
    sys.modules[name] = None
import cli
cli.main({args!r})
"""


def without(*names: str, args: list[str]) -> subprocess.CompletedProcess:
    """The command in an interpreter that cannot import these."""
    environment = {key: value for key, value in os.environ.items() if key not in ROOTS}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=names, args=args)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_list_needs_no_torch():
    done = without("torch", "scipy", args=["encoders", "--json"])
    assert done.returncode == 0, done.stderr
    answer = holds("encoders", json.loads(done.stdout))
    assert [each["name"] for each in answer["encoders"]] == encoders.names()
    merl = next(each for each in answer["encoders"] if each["name"] == "merl")
    assert merl["fault"] == "needs torch (the extra `train`)"
    assert merl["chunk_seconds"] is None
    assert merl["parameters"] == 3849345


def test_a_check_says_what_is_not_installed(tmp_path, dummy_file):
    done = without("torch", args=["encoders", "check", "dummy", str(dummy_file)])
    assert (done.returncode, done.stdout) == (2, "")
    assert "encoder dummy needs torch: install the extra `train`" in done.stderr
    file = tmp_path / "file.safetensors"
    file.write_bytes((2).to_bytes(8, "little") + b"{}")
    done = without("safetensors", args=["encoders", "check", "dummy", str(file)])
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs safetensors: install the extra `train`" in done.stderr
