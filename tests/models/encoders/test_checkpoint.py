"""A checkpoint loads whole and by its card's rules, or not at all and with the keys named."""

import argparse
import collections
import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from safetensors.torch import save_file
from torch import nn

from models import encoders
from models.encoders.card import Card, EncoderError, Rules
from models.encoders.checkpoint import check, load
from models.encoders.contract import Encoder
from tests.models.encoders import hostile

pytestmark = pytest.mark.usefixtures("one_thread")


class _Net(nn.Module):
    """A convolution that has two names, and a batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(12, 4, 3)
        self.bn = nn.BatchNorm1d(4)
        self.twin = self.conv

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn(self.conv(x))


class Small(Encoder):
    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 8, 8, 4

    def __init__(self) -> None:
        super().__init__()
        self.net = _Net()
        self.asked: list[object] = []

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x).transpose(1, 2)

    def configure_from(self, config: object) -> list[str]:
        self.asked.append(config)
        if config is None:
            return []
        if config.get("layers") == 99:
            raise EncoderError("found 99 layers; expected 1")
        return [f"{config.get('layers')} layers"]


def rules(**given) -> Card:
    return Card(
        name="small", title="Small", entry="here:Small", path=Path("small.json"), rules=Rules(**given)
    )


def weights() -> dict[str, torch.Tensor]:
    """A state dict with other values than any that is made."""
    torch.manual_seed(5)
    net = _Net()
    for key, value in net.state_dict().items():
        value.copy_(torch.randn(value.shape) if value.is_floating_point() else torch.tensor(77))
        if key.endswith("running_var"):
            value.abs_()
    return collections.OrderedDict(net.state_dict())


def save(value: object, path: Path, **options) -> Path:
    torch.save(value, path, **options)
    return path


def holds(encoder: Encoder, expected: dict[str, torch.Tensor]) -> None:
    state = encoder.state_module.state_dict()
    assert set(state) == set(expected)
    for key, value in expected.items():
        assert torch.equal(state[key], value.to(state[key].dtype)), key


def refused(path: Path, card: Card, words: str) -> str:
    """It is refused with these words and the encoder keeps every weight."""
    encoder = Small()
    before = {key: value.clone() for key, value in encoder.state_module.state_dict().items()}
    with pytest.raises(EncoderError, match=words) as caught:
        load(encoder, path, card)
    holds(encoder, before)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


class AttributeDict(dict):
    pass


class DictConfig:
    def __init__(self, content: dict) -> None:
        self._content = content


class Callback:
    pass


def bare(path, state):
    return save(state, path), rules()


def legacy(path, state):
    return save(state, path, _use_new_zipfile_serialization=False), rules()


def nested(path, state):
    return save({"model": state, "epoch": 3}, path), rules(containers=("state_dict", "model", ""))


def nested_twice(path, state):
    return save({"train": {"net": state, "step": 1}}, path), rules(containers=("net", "train.net"))


def prefixed(path, state):
    named = {f"module.encoder.{key}": value for key, value in state.items()}
    return save(named, path), rules(strip=("module.", "encoder."))


def lightning(path, state):
    content = {
        "epoch": 9,
        "pytorch-lightning_version": "2.1.0",
        "state_dict": {f"net.encoder.{key}": value for key, value in state.items()}
        | {"net.head.weight": torch.ones(5, 5), "loss.weight": torch.ones(1)},
        "hyper_parameters": AttributeDict(layers=4, config=DictConfig({"a": 1})),
        "callbacks": {Callback: Callback()},
        "optimizer_states": [{"state": {0: {"exp_avg": torch.ones(3)}}}],
    }
    with hostile.passing("gone", AttributeDict=AttributeDict, DictConfig=DictConfig, Callback=Callback):
        save(content, path)
    return path, rules(
        containers=("state_dict",), drop=("^net\\.head\\.", "^loss\\."), rename=(("^net\\.encoder\\.", ""),)
    )


def fairseq(path, state):
    content = {
        "args": None,
        "cfg": DictConfig({"layers": 12, "model": argparse.Namespace(layer_norm_first=False)}),
        "model": {**state, "mask_emb": torch.ones(3), "quantizer.vars": torch.ones(1, 2)},
        "criterion": None,
        "optimizer_history": [{"optimizer_name": "FairseqAdam", "num_updates": 1}],
        "task_state": Callback(),
        "last_optimizer_state": {"state": {}},
    }
    with hostile.passing("gone", DictConfig=DictConfig, Callback=Callback):
        save(content, path, _use_new_zipfile_serialization=False)
    return path, rules(containers=("model", ""), drop=("^mask_emb$", "^quantizer\\."))


def old_fairseq(path, state):
    return save({"args": argparse.Namespace(layers=6), "model": state}, path), rules(containers=("model",))


def hubert(path, state):
    with hostile.passing("gone", Callback=Callback):
        made = Callback()
        made.layers = 2
        save({"model_config": made, "model_state_dict": state}, path)
    return path, rules(containers=("model_state_dict", ""))


def safetensors(path, state):
    save_file({key: value.clone() for key, value in state.items()}, path, metadata={"format": "pt"})
    return path, rules()


FORMS = {
    bare: ("torch zip", "", []),
    legacy: ("torch legacy pickle", "", []),
    nested: ("torch zip", "model", []),
    nested_twice: ("torch zip", "train.net", []),
    prefixed: ("torch zip", "", []),
    lightning: ("torch zip", "state_dict", ["hyper_parameters: 4 layers"]),
    fairseq: ("torch legacy pickle", "model", ["cfg: 12 layers"]),
    old_fairseq: ("torch zip", "model", ["args: 6 layers"]),
    hubert: ("torch zip", "model_state_dict", ["model_config: 2 layers"]),
    safetensors: ("safetensors", "", []),
}


@pytest.mark.parametrize("form", FORMS, ids=lambda each: each.__name__)
def test_every_container_is_read(form, tmp_path):
    expected = weights()
    path, card = form(tmp_path / "file.ckpt", expected)
    encoder = Small()
    report = load(encoder, path, card)
    holds(encoder, expected)
    kind, container, notes = FORMS[form]
    assert (report.source.form, report.match.container, report.notes) == (kind, container, notes)
    assert report.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert report.source.size == path.stat().st_size
    assert sorted(report.match.used) == sorted(expected)
    assert report.parameters == sum(each.numel() for each in encoder.net.parameters())
    stubs = set(report.source.stubs)
    assert (report.source.reader == "tolerant") == bool(stubs)
    assert stubs <= {f"gone.{each}" for each in ("AttributeDict", "DictConfig", "Callback")} | {
        "argparse.Namespace"
    }


def test_the_configuration_comes_as_plain_values(tmp_path):
    encoder = Small()
    load(encoder, *fairseq(tmp_path / "file.pt", weights()))
    assert encoder.asked == [{"layers": 12, "model": {"layer_norm_first": False}}]
    encoder = Small()
    load(encoder, *lightning(tmp_path / "file.ckpt", weights()))
    assert encoder.asked == [{"layers": 4, "config": {"a": 1}}]


def test_an_encoder_hears_that_a_file_has_no_configuration(tmp_path):
    encoder = Small()
    load(encoder, *old_fairseq(tmp_path / "file.pt", weights()))
    load(encoder, *bare(tmp_path / "bare.pt", weights()))
    assert encoder.asked == [{"layers": 6}, None]


def test_a_configuration_that_is_refused_loads_nothing(tmp_path):
    path = save({"cfg": {"layers": 99}, "model": weights()}, tmp_path / "file.pt")
    refused(path, rules(containers=("model",)), "found 99 layers; expected 1")
    report = check(Small(), path, rules(containers=("model",)))
    assert not report.ok
    assert report.faults() == ["found 99 layers; expected 1"]


def test_dropped_keys_are_told_by_rule_and_renamed_ones_by_name(tmp_path):
    encoder = Small()
    report = load(encoder, *lightning(tmp_path / "file.ckpt", weights()))
    found = report.as_json()
    assert found["dropped"] == {"^net\\.head\\.": ["net.head.weight"], "^loss\\.": ["loss.weight"]}
    assert found["renamed"]["net.encoder.conv.weight"] == "conv.weight"
    assert len(found["renamed"]) == len(found["used"]) == found["keys_in_file"] - 2
    text = report.as_text()
    for words in (
        "loads whole as small",
        "net.head.weight",
        "^loss\\.",
        "gone.AttributeDict",
        report.source.sha256,
    ):
        assert words in text, words


def test_every_pattern_of_rename_applies_in_order(tmp_path):
    state = {
        key.replace("conv.", "layer.weight_v.").replace("bn.", "norm."): value
        for key, value in weights().items()
    }
    card = rules(rename=(("^layer\\.", "first."), ("^first\\.weight_v\\.", "conv."), ("^norm\\.", "bn.")))
    encoder = Small()
    load(encoder, save(state, tmp_path / "file.pt"), card)
    holds(encoder, weights())


def test_what_may_be_lacking_keeps_its_value_and_is_told(tmp_path):
    state = weights()
    del state["bn.weight"]
    encoder = Small()
    encoder.net.bn.weight.data.fill_(3.0)
    report = load(encoder, save(state, tmp_path / "file.pt"), rules(may_lack=("^bn\\.weight$",)))
    assert report.match.lacking == ["bn.weight"]
    assert encoder.net.bn.weight.tolist() == [3.0] * 4
    holds(encoder, {**weights(), "bn.weight": torch.full((4,), 3.0)})
    refused(save(state, tmp_path / "file.pt"), rules(), "1 keys that are missing: bn.weight")


@pytest.mark.parametrize("lacking", ["conv", "twin"])
def test_a_key_is_filled_by_its_twin(lacking, tmp_path):
    """Two keys of one tensor, of which files of other versions have one."""
    state = {key: value for key, value in weights().items() if not key.startswith(lacking)}
    other = "twin" if lacking == "conv" else "conv"
    encoder = Small()
    report = load(encoder, save(state, tmp_path / "file.pt"), rules())
    holds(encoder, weights())
    assert report.match.filled == {f"{lacking}.{each}": f"{other}.{each}" for each in ("weight", "bias")}
    assert report.parameters == sum(each.numel() for each in encoder.net.parameters())


def test_twins_that_differ_are_refused(tmp_path):
    state = weights()
    state["twin.bias"] = state["twin.bias"] + 1
    refused(
        save(state, tmp_path / "file.pt"),
        rules(),
        "1 keys of one tensor with two values: conv.bias and twin.bias",
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floats_are_cast_and_told(dtype, tmp_path):
    state = {key: value.to(dtype) if value.is_floating_point() else value for key, value in weights().items()}
    encoder = Small()
    report = load(encoder, save(state, tmp_path / "file.pt"), rules())
    holds(encoder, state)
    (told,) = report.match.casts
    assert told == f"{str(dtype).removeprefix('torch.')} → float32"
    assert len(report.match.casts[told]) == len(state) - 1
    assert encoder.net.conv.weight.dtype == torch.float32


def changed(key: str, value: object) -> dict[str, object]:
    return {**weights(), key: value}


def without(*keys: str) -> dict[str, torch.Tensor]:
    return {key: value for key, value in weights().items() if key not in keys}


NAN = torch.tensor([0.0, float("nan"), 0.0, 0.0])
FAULTS = {
    "unexpected": (
        changed("head.weight", torch.ones(2)),
        "1 keys that no rule of the card covers: head.weight",
    ),
    "a value beside": (changed("epoch", 3), "1 keys that no rule of the card covers: epoch"),
    "a key that is no text": (changed(7, torch.ones(2)), "1 keys that no rule of the card covers: 7"),
    "missing": (without("bn.weight", "bn.bias"), "2 keys that are missing: bn.weight, bn.bias"),
    "both twins missing": (
        without("conv.bias", "twin.bias"),
        "2 keys that are missing: conv.bias, twin.bias",
    ),
    "shape": (
        changed("bn.weight", torch.ones(5)),
        r"1 keys with another shape: bn.weight \(found \[5\], expected \[4\]\)",
    ),
    "turned": (changed("conv.weight", torch.ones(3, 12, 4)), r"found \[3, 12, 4\], expected \[4, 12, 3\]"),
    "whole numbers": (
        changed("bn.weight", torch.ones(4, dtype=torch.int64)),
        r"1 keys with another kind of value: bn.weight \(found int64, expected float32\)",
    ),
    "floats": (changed("bn.num_batches_tracked", torch.tensor(1.5)), "found float32, expected int64"),
    "truth": (changed("bn.weight", torch.ones(4, dtype=torch.bool)), "found bool, expected float32"),
    "a list": (changed("bn.weight", [1.0] * 4), r"bn.weight \(found list, no tensor, expected float32\)"),
    "sparse": (changed("bn.weight", torch.ones(4).to_sparse()), "a tensor of a kind that is not read"),
    "NaN": (changed("bn.weight", NAN), "1 keys with NaN or infinite weights: bn.weight"),
    "infinite": (
        changed("bn.running_var", torch.full((4,), float("inf"))),
        "infinite weights: bn.running_var",
    ),
    "a variance below zero": (
        changed("bn.running_var", torch.tensor([1.0, -1e-3, 1.0, 1.0])),
        r"bn.running_var \(found a value below zero, expected a variance\)",
    ),
    "beyond float32": (
        changed("bn.bias", torch.full((4,), 1e300, dtype=torch.float64)),
        "infinite weights: bn.bias",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_anything_outside_the_rules_is_an_error_that_names_it(fault, tmp_path):
    state, words = FAULTS[fault]
    refused(save(state, tmp_path / "file.pt"), rules(), words)


def test_large_weights_whose_sum_is_infinite_are_fine(tmp_path):
    state = changed("bn.weight", torch.full((4,), 3e38))
    encoder = Small()
    load(encoder, save(state, tmp_path / "file.pt"), rules())
    holds(encoder, state)


def test_two_keys_that_become_one_are_refused(tmp_path):
    state = changed("old.bias", torch.ones(4))
    words = r"1 keys that come from two of the file's: bn.bias \(from bn.bias and old.bias\)"
    refused(save(state, tmp_path / "file.pt"), rules(rename=(("^old\\.", "bn."),)), words)


def test_a_prefix_that_only_some_keys_have_is_not_stripped(tmp_path):
    state = {f"module.{key}" if "conv" in key else key: value for key, value in weights().items()}
    refused(
        save(state, tmp_path / "file.pt"),
        rules(strip=("module.",)),
        "no rule of the card covers: module.conv",
    )


def test_a_beginning_that_all_keys_share_is_named(tmp_path):
    state = {f"module.{key}": value for key, value in weights().items()}
    message = refused(
        save(state, tmp_path / "file.pt"), rules(), "without their beginning 'module.' they fit"
    )
    assert "head" not in message
    missing_more = {f"module.{key}": value for key, value in without("bn.bias").items()}
    with pytest.raises(EncoderError) as caught:
        load(Small(), save(missing_more, tmp_path / "file.pt"), rules())
    assert "they fit" not in str(caught.value)


DROPPING = {"drop": ("^(?!net\\.)",), "rename": (("^net\\.", ""),)}


@pytest.mark.parametrize("beside", [{}, {"loss.weight": torch.ones(1)}], ids=["all", "most"])
def test_keys_that_were_all_dropped_for_their_beginning_are_said_to_be(beside, tmp_path):
    state = {f"model.net.{key}": value for key, value in weights().items()} | beside
    message = refused(
        save({"epoch": 1, "state_dict": state}, tmp_path / "file.pt"),
        rules(containers=("state_dict", ""), **DROPPING),
        "without their beginning 'model.' they fit",
    )
    assert f"all {len(state)} keys of the file were dropped by ^(?!net\\.)" in message


def test_keys_that_were_all_dropped_and_would_not_fit_get_no_such_word(tmp_path):
    state = {f"model.net.{key}": value for key, value in without("bn.bias").items()}
    message = refused(
        save(state, tmp_path / "file.pt"), rules(**DROPPING), "all 8 keys of the file were dropped by"
    )
    assert "they fit" not in message


def test_a_function_that_no_checkpoint_needs_is_warned_of(tmp_path):
    marker = tmp_path / "marker"
    hidden = hostile.OBJECTS["os.system"](str(marker))
    path = save({"epoch": hidden, "state_dict": weights()}, tmp_path / "file.pt")
    report = load(Small(), path, rules(containers=("state_dict",)))
    first, second, *_ = report.as_text().splitlines()
    assert first.endswith("loads whole as small")
    assert second.startswith("  WARNING ")
    assert second.endswith(" names a function that no checkpoint needs: posix.system; not run")
    assert not marker.exists()
    harmless, card = lightning(tmp_path / "file.ckpt", weights())
    assert "WARNING" not in load(Small(), harmless, card).as_text()


def test_the_first_ten_keys_are_named_and_the_rest_counted(tmp_path):
    state = {**weights(), **{f"more.{place:02}": torch.ones(1) for place in range(25)}}
    message = refused(
        save(state, tmp_path / "file.pt"), rules(), "25 keys that no rule of the card covers: more.00,"
    )
    assert "more.09 and 15 more" in message
    assert "more.10" not in message
    assert len(check(Small(), tmp_path / "file.pt", rules()).as_json()["unexpected"]) == 25


def test_names_of_a_file_do_not_reach_the_terminal_raw(tmp_path):
    state = changed("bad\n\x1b[31mname" + "x" * 500, torch.ones(1))
    message = refused(save(state, tmp_path / "file.pt"), rules(), "no rule of the card covers")
    assert "\x1b" not in message
    assert "bad\\n\\x1b[31mname" in message
    assert max(map(len, message.splitlines())) < 400


NO_STATE = {
    "none": (
        {"epoch": 1, "model": {}},
        r"no tensors in the file itself, and nowhere else: epoch \(int\), model \(dict\)",
    ),
    "elsewhere": (
        {"ecg_model": weights()},
        r"no tensors in the file itself; there are some in ecg_model \(9\)",
    ),
    "a list": ([1, 2], "no state dict, but list"),
    "a tensor": (torch.ones(3), "no state dict, but Tensor"),
    "a number": (3, "no state dict, but int"),
}


@pytest.mark.parametrize("case", NO_STATE)
def test_a_file_without_a_state_dict_is_refused(case, tmp_path):
    value, words = NO_STATE[case]
    refused(save(value, tmp_path / "file.pt"), rules(), words)


def test_a_whole_module_is_refused_with_what_to_do(tmp_path):
    class Whole(nn.Linear):
        pass

    with hostile.passing("gone", Whole=Whole):
        path = save(Whole(2, 2), tmp_path / "file.pt")
    refused(path, rules(), r"a whole module, gone\.Whole: save its state_dict\(\)")


def page(path: Path) -> Path:
    path.write_text(
        "<!DOCTYPE html>\n<html><head><title>Google Drive - Virus scan warning</title></head></html>"
    )
    return path


def pointer(path: Path) -> Path:
    path.write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 374490000\n",
        encoding="utf-8",
    )
    return path


def packed(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("res18_best_encoder.pth", b"weights")
    return path


def written(content: bytes):
    def write(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return write


def array() -> bytes:
    import numpy as np

    stream = io.BytesIO()
    np.save(stream, np.ones(3))
    return stream.getvalue()


def folder(path: Path) -> Path:
    path.mkdir()
    return path


NO_CHECKPOINT = {
    "no file": (lambda path: path, "found no file"),
    "a folder": (folder, "found a folder"),
    "empty": (written(b""), "found an empty file"),
    "a web page": (page, r"found a web page \('<!DOCTYPE html>.*as a failed download leaves one"),
    "text": (written(b"Not Found\n"), r"found text \('Not Found'"),
    "JSON": (
        written(json.dumps({"message": "Not Found"}).encode()),
        r"found text \('\{\"message\": \"Not Found\"\}'",
    ),
    "text of other letters": (written("오류 파일 없음 ".encode() * 200), "found text \\('오류 파일 없음"),
    "no text": (written(b"\xff\xfeA"), "found 3 bytes that begin with ff fe 41"),
    "a git-lfs pointer": (pointer, "found a git-lfs pointer for 374,490,000 bytes.*git lfs pull"),
    "gzip": (written(gzip.compress(b"weights")), "found a gzip archive: unpack it first"),
    "another zip": (packed, r"without data.pkl \(its members: res18_best_encoder.pth\)"),
    "an array": (written(array()), "found a NumPy array"),
    "a plain pickle": (written(b"\x80\x02}q\x00."), "found a pickle that torch.save did not write"),
    "noise": (written(bytes(range(1, 200)) * 3), "found 597 bytes that begin with 01 02 03 04"),
    "too short": (written(b"\x00\x01"), "found 2 bytes that begin with 00 01"),
}


@pytest.mark.parametrize("case", NO_CHECKPOINT)
def test_what_is_no_checkpoint_is_said_to_be_what_it_is(case, tmp_path):
    make, words = NO_CHECKPOINT[case]
    message = refused(make(tmp_path / "file.pt"), rules(), words)
    assert "expected a checkpoint: safetensors, or what torch.save writes" in message


@pytest.mark.parametrize("form", [bare, legacy, safetensors], ids=lambda each: each.__name__)
def test_a_file_that_is_cut_off_anywhere_is_refused(form, tmp_path):
    path, card = form(tmp_path / "file.pt", weights())
    whole = path.read_bytes()
    for end in (12, 100, len(whole) // 3, len(whole) // 2, len(whole) - 100, len(whole) - 1):
        path.write_bytes(whole[:end])
        refused(path, card, "cut off|damaged|another|bytes that begin")
    if form is safetensors:
        path.write_bytes(whole[:100])
        refused(
            path, card, r"found 100 bytes of a safetensors file whose header alone has \d+: it is cut off"
        )
    path.write_bytes(whole)
    load(Small(), path, card)


def place_of(path: Path, number: float) -> int:
    """Where the file has this float32."""
    return path.read_bytes().index(torch.tensor([number]).numpy().tobytes())


@pytest.mark.parametrize("reader", ["weights_only", "tolerant"])
def test_one_changed_byte_of_a_weight_is_damage(reader, tmp_path):
    """torch's own reader does not see it: the control."""
    content = {"model": changed("bn.bias", torch.full((4,), 0.8125)), "cfg": argparse.Namespace(layers=1)}
    if reader == "weights_only":
        content["cfg"] = {"layers": 1}
    path, card = save(content, tmp_path / "file.pt"), rules(containers=("model",))
    assert load(Small(), path, card).source.reader == reader
    damaged = bytearray(path.read_bytes())
    damaged[place_of(path, 0.8125) + 2] ^= 1
    path.write_bytes(damaged)
    if reader == "weights_only":
        assert float(torch.load(path, weights_only=True)["model"]["bn.bias"][0]) != 0.8125
    refused(path, card, r"a member file/data/\d+ whose bytes are not those that were written \(CRC-32\)")


def test_a_hole_as_an_interrupted_download_leaves_it_is_damage(tmp_path):
    path, card = bare(tmp_path / "file.pt", changed("conv.weight", torch.full((4, 12, 3), 0.8125)))
    damaged, place = bytearray(path.read_bytes()), place_of(path, 0.8125)
    damaged[place + 16 : place + 400] = bytes(384)
    path.write_bytes(damaged)
    assert bool((torch.load(path, weights_only=True)["conv.weight"] == 0).any())
    refused(path, card, "its download was not finished")


@pytest.mark.parametrize("config", [{"layers": 1}, argparse.Namespace(layers=1)], ids=["torchs", "ours"])
def test_a_file_without_checksums_loads_with_a_note(config, tmp_path):
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        path = save({"model": weights(), "cfg": config}, tmp_path / "file.pt")
    finally:
        torch.serialization.set_crc32_options(before)
    encoder = Small()
    report = load(encoder, path, rules(containers=("model",)))
    holds(encoder, weights())
    assert report.notes[0].startswith("the file has no checksums")
    assert "no checksums" in report.as_text()


def packed_anew(path: Path, to: Path, method: int, **others: bytes) -> Path:
    """The same archive, packed, with members replaced or added beside data.pkl."""
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(to, "w", method) as made:
        for name in archive.namelist():
            made.writestr(name, others.pop(name.rpartition("/")[2].replace(".", "_"), archive.read(name)))
        for name, content in others.items():
            made.writestr(f"file/data/{name}", content)
    return to


BOMBS = {
    "a pickle": ({"data_pkl": b"N0" * (30 << 20) + b"N."}, zipfile.ZIP_DEFLATED, "that unpacks to 62,"),
    "a large pickle": (
        {"data_pkl": b"N0" * (32 << 20) + b"N."},
        zipfile.ZIP_DEFLATED,
        "data.pkl of 67,108,866",
    ),
    "a storage": ({"more": bytes(30 << 20)}, zipfile.ZIP_DEFLATED, "that unpacks to 31,"),
    "another packing": ({}, zipfile.ZIP_LZMA, "packed by method 14"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_an_archive_that_grows_without_measure_is_refused_before_it_is_unpacked(bomb, tmp_path, monkeypatch):
    others, method, words = BOMBS[bomb]
    path = packed_anew(save(weights(), tmp_path / "file.pt"), tmp_path / "packed.pt", method, **others)

    def unpacked(*_: object, **__: object) -> None:
        raise AssertionError("it was unpacked")

    monkeypatch.setattr(zipfile.ZipFile, "open", unpacked)
    monkeypatch.setattr(torch, "load", unpacked)
    refused(path, rules(), words)


def test_members_that_share_their_bytes_are_refused(tmp_path):
    path = save(changed("conv.weight", torch.zeros(4, 12, 3)), tmp_path / "file.pt")
    with zipfile.ZipFile(path, "a") as archive:
        largest = max(archive.infolist(), key=lambda each: each.file_size)
        archive.filelist += [largest] * 50
        archive._didModify = True
    refused(path, rules(), "they overlap")


def test_a_damaged_member_of_a_packed_archive_is_refused(tmp_path):
    path = packed_anew(save(weights(), tmp_path / "file.pt"), tmp_path / "packed.pt", zipfile.ZIP_DEFLATED)
    load(Small(), path, rules())
    with zipfile.ZipFile(path) as archive:
        member = max(
            (each for each in archive.infolist() if "/data/" in each.filename),
            key=lambda each: each.file_size,
        )
    damaged = bytearray(path.read_bytes())
    damaged[member.header_offset + 30 + len(member.filename) + member.compress_size // 2] ^= 0x55
    path.write_bytes(damaged)
    refused(path, rules(), "damaged")


def test_another_encoders_file_is_recognised(tmp_path):
    """By its keys, in its own container, and without a word where nothing fits."""
    merl = encoders.create("merl")
    path = save({"state_dict": merl.state_module.state_dict()}, tmp_path / "merl.pth")
    report = check(encoders.create("dummy"), path, encoders.card("dummy"))
    assert report.fits == ["merl"]
    assert report.faults()[-1] == "its keys are those of merl"
    assert check(Small(), save({"x": torch.ones(1)}, tmp_path / "x.pt"), rules()).fits == []


def test_a_file_of_its_own_with_a_fault_is_nobody_elses(tmp_path):
    state = encoders.create("merl").state_module.state_dict()
    del state["conv1.weight"]
    report = check(encoders.create("merl"), save(state, tmp_path / "merl.pth"), encoders.card("merl"))
    assert report.faults() == ["1 keys that are missing: conv1.weight"]


def test_looking_for_another_encoder_leaves_torchs_random_numbers(tmp_path):
    path = save({"x": torch.ones(1)}, tmp_path / "x.pt")
    encoder = Small()
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    check(encoder, path, rules())
    assert torch.equal(torch.rand(3), expected)


def test_create_loads_by_the_card(tmp_path):
    donor = encoders.create("dummy")
    donor.net[0].weight.data.mul_(2)
    path = save(donor.net.state_dict(), tmp_path / "dummy.pt")
    made = encoders.create("dummy", checkpoint=path)
    holds(made, donor.net.state_dict())
    assert not made.training
    with pytest.raises(EncoderError, match="4 keys that are missing"):
        encoders.create("dummy", checkpoint=save({"x": torch.ones(1)}, tmp_path / "x.pt"))


def test_a_report_lets_go_of_the_file(tmp_path):
    path, card = bare(tmp_path / "file.pt", weights())
    report = load(Small(), path, card)
    assert report.match.weights == {}
    assert json.loads(json.dumps(report.as_json()))["ok"] is True


def test_a_key_that_holds_what_grows_without_end_is_named_by_its_class(tmp_path):
    class Deep:
        """Two to the sixty parts, were all of it printed."""

        def __init__(self, inner: object) -> None:
            self.inner = (inner, inner)

    deep: object = None
    for _ in range(60):
        deep = Deep(deep)
    with hostile.passing("gone", Deep=Deep):
        path = save({**weights(), deep: torch.ones(1)}, tmp_path / "file.pt")
    refused(path, rules(), "1 keys that no rule of the card covers: gone.Deep$")
