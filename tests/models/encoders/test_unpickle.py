"""Hostile pickles do nothing, and the rest of such a file is read; harmless ones give what torch's reader gives.

Each attack is also given to Python's own unpickler, as a control: there it must do what it wants to do.
"""

import argparse
import collections
import copyreg
import dataclasses
import enum
import importlib
import pickle
import random
import sys
import warnings
import zipfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import numpy as np
import torch

from models.encoders.card import EncoderError
from models.encoders.contents import read
from models.encoders.stubs import Name, Stub, plain
from models.encoders.torch_file import _builders, read_legacy, read_zip
from models.encoders.unpickle import PickleError, Reader
from tests.models.encoders import hostile

FORMS = {"zip": read_zip, "legacy": read_legacy}


def save(value: object, path: Path, form: str) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=form == "zip")
    return path


def value_of(source: bytes, builders=()):
    """What our reader makes of a pickle, and the names that it left alone."""
    reader = Reader(dict(builders), lambda identity: Stub("persistent", (identity,)))
    return reader.read(source), reader.stubs


_heard: list[str] | None = None


def _hear(event: str, arguments: tuple) -> None:
    if _heard is not None:
        _heard.append(event)


sys.addaudithook(_hear)


@contextmanager
def hearing():
    """Python's audit events of the meantime: imports, files, processes, compiled code, looked up classes."""
    global _heard
    _heard = heard = []
    try:
        yield heard
    finally:
        _heard = None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("attack", hostile.OBJECTS)
def test_a_hostile_file_does_nothing_and_its_weights_are_read(attack, form, tmp_path):
    marker = tmp_path / "marker"
    weights = {"a.weight": torch.arange(6.0).view(2, 3)}
    hidden = hostile.OBJECTS[attack](str(marker))
    path = save({"epoch": hidden, "state_dict": weights}, tmp_path / "file.pt", form)
    with suppress(AttributeError):  # what comes after the deed
        torch.load(path, weights_only=False)
    assert marker.is_dir(), "the control: this attack works"
    marker.rmdir()

    contents = read(path)
    assert not marker.exists()
    assert contents.source.reader == "tolerant"
    assert torch.equal(contents.tree["state_dict"]["a.weight"], weights["a.weight"])
    assert isinstance(contents.tree["epoch"], (Stub, list))
    assert contents.source.stubs, "what was not run is named"


@pytest.mark.parametrize("attack", hostile.STREAMS)
def test_no_instruction_calls_imports_or_opens_anything(attack, tmp_path):
    marker = tmp_path / "marker"
    source = hostile.STREAMS[attack](str(marker))
    copyreg.add_extension("os", "mkdir", 0xF0)
    try:
        with hearing() as heard:
            pickle.loads(source)
        assert marker.is_dir(), "the control: this attack works"
        assert "os.mkdir" in heard
        marker.rmdir()
        with hearing() as heard:
            value, stubs = value_of(source)
    finally:
        copyreg.remove_extension("os", "mkdir", 0xF0)
    assert not marker.exists()
    assert heard == []
    assert isinstance(value, Stub)
    assert len(stubs) == 1


def test_a_named_module_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "bad_module.py").write_text("import os\nos.mkdir(os.environ['MARKER'])\nthing = 1\n")
    monkeypatch.setenv("MARKER", str(tmp_path / "marker"))
    monkeypatch.syspath_prepend(tmp_path)
    value, stubs = value_of(b"cbad_module\nthing\n.")
    assert value == Name("bad_module.thing")
    assert stubs == {"bad_module.thing"}
    assert "bad_module" not in sys.modules
    assert not (tmp_path / "marker").exists()
    assert pickle.loads(b"cbad_module\nthing\n.") == 1
    assert (tmp_path / "marker").is_dir(), "the control"


@pytest.mark.parametrize("state", [{"poisoned": 1}, (None, {"poisoned": 1})], ids=["dict", "slots"])
def test_state_does_not_change_a_function_of_torch(state, monkeypatch):
    function = torch._utils._rebuild_tensor_v2
    source = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n" + pickle.dumps(state, 2)[2:-1] + b"b."
    builders = _builders()
    value_of(source, builders)
    assert not hasattr(function, "poisoned")
    assert not hasattr(builders["torch._utils._rebuild_tensor_v2"].function, "poisoned")
    pickle.loads(source)
    assert function.poisoned == 1, "the control"
    del function.poisoned


def test_the_source_of_a_class_writes_no_patch(tmp_path, monkeypatch):
    """torch's old form keeps the source of modules, and its reader writes a file where that differs from today's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    source = "import torch\nclass Patched(torch.nn.Module):\n    dump_patches = True\n    old = 1\n"
    (tmp_path / "patched_module.py").write_text(source)
    module = importlib.import_module("patched_module")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = save({"module": module.Patched(), "w": torch.ones(2)}, tmp_path / "file.pt", "legacy")
        (tmp_path / "patched_module.py").write_text(source.replace("old", "new"))
        assert torch.equal(read(path).tree["w"], torch.ones(2))
        assert not (tmp_path / "Patched.patch").exists()
        torch.load(path, weights_only=False)
    assert (tmp_path / "Patched.patch").is_file(), "the control"


def test_a_script_archive_is_not_run(tmp_path):
    path = tmp_path / "script.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)
    with pytest.raises(EncoderError, match="TorchScript archive, which is a program"):
        read(path)


def storage(kind=torch.FloatStorage, key="0", numel=6):
    return ("storage", kind, key, "cpu", numel)


def tensor(identity=None, offset=0, size=(2, 3), stride=(3, 1)):
    place = hostile.Here(identity or storage())
    return hostile.Calls(torch._utils._rebuild_tensor_v2, place, offset, size, stride, False, {})


def test_a_file_written_by_hand_is_torchs(tmp_path):
    """What the tests below damage is what torch reads."""
    numbers = torch.arange(6.0)
    for form, reader in FORMS.items():
        place = tensor((*storage(), None) if form == "legacy" else storage())
        content = {"0": numbers.numpy().tobytes()}
        path = hostile.write(tmp_path / form, form, hostile.pickled({"w": place}), content)
        assert torch.equal(torch.load(path, weights_only=True)["w"], numbers.view(2, 3))
        assert torch.equal(reader(path)[0]["w"], numbers.view(2, 3))


WRONG = {
    "an id that is text": tensor("0"),
    "an id of another kind": tensor(("device", torch.FloatStorage, "0", "cpu", 6)),
    "an id with a class for a type": tensor(storage(kind=collections.OrderedDict)),
    "a key outside": tensor(storage(key="../secret")),
    "a key that is no text": tensor(storage(key=0)),
    "a negative size": tensor(storage(numel=-6)),
    "a size beyond the file": tensor(storage(numel=10**15)),
    "a size beyond the storage": tensor(storage(numel=7), size=(7,), stride=(1,)),
    "a view beyond the storage": tensor(size=(3, 3)),
    "an offset beyond the storage": tensor(offset=1),
    "a negative offset": tensor(offset=-1),
    "a negative stride": tensor(stride=(-3, 1)),
    "other strides than sizes": tensor(stride=(1,)),
    "a size that is a list of text": tensor(size=("2", "3")),
    "a tensor of no storage": hostile.Calls(torch._utils._rebuild_tensor_v2, "0", 0, (1,), (1,), False, None),
    "too few arguments": hostile.Calls(torch._utils._rebuild_tensor_v2, 1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_tensor_is_inside_its_storage_or_an_error(wrong, form, tmp_path):
    numbers = torch.arange(6.0).numpy().tobytes()
    path = hostile.write(tmp_path / "file.pt", form, hostile.pickled({"w": WRONG[wrong]}), {"0": numbers})
    with pytest.raises(PickleError):
        FORMS[form](path)


@pytest.mark.parametrize(
    ("storages", "words"),
    [
        ({}, "others behind them"),
        ({"0": b"\0" * 24, "1": b""}, "others behind them"),
        ({"0": b"\0" * 20}, "20 bytes of the storage 0, where 24 belong: it is cut off"),
    ],
    ids=["none", "one more", "short"],
)
def test_the_old_form_has_every_storage_whole(storages, words, tmp_path):
    path = hostile.write(tmp_path / "file.pt", "legacy", hostile.pickled({"w": tensor()}), storages)
    with pytest.raises(PickleError, match=words):
        read_legacy(path)


def test_a_storage_of_the_old_form_says_how_many_numbers_it_has(tmp_path):
    content = {"0": b"\0" * 24}
    path = hostile.write(tmp_path / "file.pt", "legacy", hostile.pickled({"w": tensor()}), content, item=8)
    with pytest.raises(PickleError, match="3 numbers in the storage 0, where 6 belong"):
        read_legacy(path)


SAMPLES = {
    "matrix": torch.arange(12.0).view(3, 4),
    "transposed": torch.arange(12.0).view(3, 4).t()[1:, ::2],
    "expanded": torch.ones(1).expand(3, 4),
    "empty": torch.empty(0, 3),
    "scalar": torch.tensor(2.5),
    "parameter": torch.nn.Parameter(torch.randn(3)),
    "half": torch.randn(5).half(),
    "bfloat16": torch.randn(5).bfloat16(),
    "double": torch.randn(5).double(),
    "long": torch.arange(5),
    "int8": torch.arange(5, dtype=torch.int8),
    "bool": torch.tensor([True, False]),
    "complex": torch.randn(3, dtype=torch.complex64),
    "uint16": torch.arange(3).to(torch.uint16),
    "float8": torch.randn(4).to(torch.float8_e4m3fn),
}
SAMPLES["part of another"] = SAMPLES["matrix"][1]


@pytest.mark.parametrize("form", FORMS)
def test_tensors_are_those_that_torchs_reader_gives(form, tmp_path):
    newer = ("uint16", "float8")  # torch's old form has none
    samples = {name: each for name, each in SAMPLES.items() if form == "zip" or name not in newer}
    path = save(samples, tmp_path / "file.pt", form)
    expected = torch.load(path, weights_only=True)
    found, stubs = FORMS[form](path)
    assert stubs == set()
    assert set(found) == set(samples)
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        assert found[name].shape == value.shape, name
        as_numbers = torch.view_as_real if value.is_complex() else lambda each: each.float()
        assert torch.equal(as_numbers(found[name].detach()), as_numbers(value.detach())), name


def test_a_compressed_archive_is_read(tmp_path):
    save(SAMPLES, tmp_path / "file.pt", "zip")
    with (
        zipfile.ZipFile(tmp_path / "file.pt") as archive,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in archive.namelist():
            packed.writestr(name, archive.read(name))
    for found in (read_zip(tmp_path / "packed.pt")[0], read(tmp_path / "packed.pt").tree):
        assert torch.equal(found["transposed"], SAMPLES["transposed"])
        assert torch.equal(found["parameter"], SAMPLES["parameter"])


def test_whatever_is_damaged_is_said_in_words(tmp_path):
    """Bytes changed, lost and added at random: a value or an EncoderError, nothing else and at once."""
    random.seed(7)
    path = tmp_path / "file.pt"
    value = {
        "w": torch.arange(3.0),
        "n": argparse.Namespace(a=[1, (2, 3)], b={1, 2}),
        "big": 10**30,
        "b": b"raw",
    }
    outcomes = collections.Counter()
    for form in FORMS:
        whole = save(value, tmp_path / form, form).read_bytes()
        for _ in range(150):
            content = bytearray(whole)
            for _ in range(random.choice((1, 1, 3, 10))):
                place, action = random.randrange(len(content)), random.random()
                if action < 0.7:
                    content[place] = random.randrange(256)
                elif action < 0.85:
                    del content[place : place + 4]
                else:
                    content[place:place] = random.randbytes(4)
            path.write_bytes(content)
            try:
                plain(read(path).tree)
                outcomes["read"] += 1
            except EncoderError as error:
                outcomes["refused" if str(error).startswith(str(path)) else str(error)] += 1
    assert set(outcomes) == {"read", "refused"}
    assert min(outcomes.values()) > 10


class Mode(enum.Enum):
    default = "default"


@dataclasses.dataclass
class Settings:
    layers: int = 12
    mode: Mode = Mode.default


class DictConfig:
    """As omegaconf's: what it holds is in ``_content``, each value in a node of its own."""

    def __init__(self, content: dict):
        self.__dict__["_content"] = content
        self.__dict__["_metadata"] = None


class AnyNode:
    def __init__(self, value: object):
        self._val = value


class AttributeDict(dict):
    """As Lightning keeps hyperparameters."""


@pytest.mark.parametrize("form", FORMS)
def test_a_configuration_of_absent_classes_is_read_as_plain_values(form, tmp_path):
    config = {
        "namespace": argparse.Namespace(layer_norm_first=False, sizes=[1, (2, 3)]),
        "dataclass": Settings(),
        "omegaconf": DictConfig(
            {"model": DictConfig({"layer_norm_first": AnyNode(True), "rate": AnyNode(500)})}
        ),
        "lightning": AttributeDict(lr=0.1, inner=AttributeDict(x=None)),
        "numbers": {"float": np.float64(0.5), "int": np.int64(7), "bool": np.bool_(True)},
        "plain": {
            "size": torch.Size([2, 3]),
            "dtype": torch.float32,
            "device": torch.device("cuda", 0),
            3: b"bytes",
        },
        "pairs": collections.defaultdict(list, a=[1]),
    }
    with hostile.passing(
        "absent",
        Mode=Mode,
        Settings=Settings,
        DictConfig=DictConfig,
        AnyNode=AnyNode,
        AttributeDict=AttributeDict,
    ):
        path = save({"cfg": config, "w": torch.ones(1)}, tmp_path / "file.pt", form)
    contents = read(path)
    name, found = contents.configuration()
    assert name == "cfg"
    assert found == {
        "namespace": {"layer_norm_first": False, "sizes": [1, (2, 3)]},
        "dataclass": {"layers": 12, "mode": "default"},
        "omegaconf": {"model": {"layer_norm_first": True, "rate": 500}},
        "lightning": {"lr": 0.1, "inner": {"x": None}},
        "numbers": {"float": 0.5, "int": 7, "bool": True},
        "plain": {"size": (2, 3), "dtype": torch.float32, "device": "cuda:0", 3: b"bytes"},
        "pairs": {"a": [1]},
    }
    absent = {f"absent.{each}" for each in ("Mode", "Settings", "DictConfig", "AnyNode", "AttributeDict")}
    assert set(contents.source.stubs) == absent | {"argparse.Namespace"}


def test_a_configuration_that_holds_itself_ends():
    mine = argparse.Namespace(name="mine")
    mine.self = mine
    listed = [1]
    listed.append(listed)
    value, _ = value_of(pickle.dumps({"mine": mine, "listed": listed}))
    found = plain(value)
    assert found["mine"]["name"] == "mine"
    assert found["listed"][0] == 1


def test_a_configuration_that_shares_its_parts_is_read_at_once():
    """Two to the sixty parts, were each looked at by itself."""
    shared = {"end": 1}
    for _ in range(60):
        shared = {"left": shared, "right": shared}
    found = plain(value_of(pickle.dumps(shared))[0])
    for _ in range(60):
        found = found["right"]
    assert found == {"end": 1}


def test_what_is_nested_without_end_is_refused():
    nest = []
    for _ in range(100_000):
        nest = [nest]
    with pytest.raises(EncoderError, match="nested too deep"):
        plain(nest)
    duplicated, pair = b"2", b"\x86"
    with pytest.raises(PickleError, match="a tuple of tuples as a key"):
        value_of(b"\x80\x02})" + (duplicated + pair) * 60 + b"Ns.")


def test_a_stream_without_an_end_and_an_empty_stack_are_damage():
    for source in (b"", b"N", b".", b"\x80\x02}X\x0a\x00\x00\x00abc", b"h\x05.", b"t.", b"\x97."):
        with pytest.raises(PickleError):
            value_of(source)
