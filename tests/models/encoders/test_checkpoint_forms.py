"""A checkpoint is read in every form and container that its kind of training leaves, with its configuration."""

import argparse
import hashlib

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from safetensors.torch import save_file
from torch import nn

from models.encoders.checkpoint import check, load
from tests.models.encoders import hostile
from tests.models.encoders.probe import Small, holds, refused, rules, save, weights

pytestmark = pytest.mark.usefixtures("one_thread")


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
