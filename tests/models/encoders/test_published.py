"""The cards' rules on files in the containers that the authors save: each key must arrive where it belongs.

Every key has a number of its own, spread over its shape without taking memory, so that a file of a hundred million
weights has some thousand bytes.
"""

import gc
import zlib

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch
from safetensors.torch import save_file

from models import encoders
from models.encoders.card import EncoderError
from models.encoders.checkpoint import load
from models.encoders.keys import aliases
from tests.models.encoders import hostile

PUBLISHED = [name for name in encoders.names() if encoders.card(name).file]
GAIN, DIRECTION = ".parametrizations.weight.original0", ".parametrizations.weight.original1"


pytestmark = pytest.mark.usefixtures("one_thread")


def number(key: str) -> int:
    return zlib.crc32(key.encode()) % 2000 + 1


def numbered(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The state dict of a module with a number a key; two names of one tensor share one."""
    state = module.state_dict(keep_vars=True)
    twins = aliases(state)
    return {
        key: torch.full(
            (1,) * value.ndim, number(min(key, *twins.get(key, [key]))), dtype=value.dtype
        ).expand(value.shape)
        for key, value in state.items()
    }


def beside(*keys: str) -> dict[str, torch.Tensor]:
    return {key: torch.ones(2, 3) for key in keys}


def older(state):
    """Weight norm as torch spelled it before version 2."""
    return {
        key.replace(GAIN, ".weight_g").replace(DIRECTION, ".weight_v"): value for key, value in state.items()
    }


class Configured:
    """A class of the authors' own, not there where the file is read."""

    def __init__(self, **fields: object) -> None:
        self.__dict__.update(fields)


def ecg_founder(state):
    dense = {"dense.weight": torch.ones(150, 1024), "dense.bias": torch.ones(150)}
    return {"state_dict": {**state, **dense}, "epoch": 3}


def ecg_jepa(state):
    return {"encoder": state, "epoch": 100}


def st_mem(state):
    return {"model": state}


def st_mem_encoder(state):
    """The authors' second file: the encoder alone, without its prefix."""
    return {
        "model": {
            key.removeprefix("encoder."): value for key, value in state.items() if key.startswith("encoder.")
        }
    }


def cpc(state):
    renamed = {
        key.replace("encoder.", "ts_encoder.encoder.layers.", 1)
        if key.startswith("encoder.")
        else f"ts_encoder.predictor.{key}": value
        for key, value in state.items()
    }
    return {
        "epoch": 40,
        "pytorch-lightning_version": "2.2.0",
        "state_dict": renamed | beside("criterion.weight", "head.0.weight"),
        "hyper_parameters": Configured(base=Configured(fs=240)),
        "optimizer_states": [{"state": {0: beside("exp_avg")}}],
    }


def merl(state):
    linear = {"linear.weight": torch.ones(2, 512), "linear.bias": torch.ones(2)}
    return {**{key: value for key, value in state.items() if not key.startswith("linear.")}, **linear}


def ecgfm_ked(state):
    return {
        "model": beside("layer.weight"),
        "ecg_model": state,
        "text_encoder": beside("embeddings.weight"),
        "optimizer": {"state": {}, "param_groups": [{"lr": 1e-4}]},
        "lr_scheduler": {"last_epoch": 3},
        "config": Configured(batch_size=64),
        "epoch": 3,
    }


def ecgfm_ked_flat(state):
    return {f"ecg_model.{key}": value for key, value in state.items()} | beside("model.layer.weight")


def hubert_ecg(state):
    return {"model_config": Configured(hidden_size=768), "model_state_dict": state}


def ecg_fm(state):
    return {
        "args": None,
        "cfg": Configured(model={"layer_norm_first": False, "extractor_mode": "default"}),
        "model": older(state)
        | beside(
            "mask_emb",
            "quantizer.vars",
            "quantizer.weight_proj.weight",
            "project_q.weight",
            "final_proj.bias",
        ),
        "criterion": None,
        "optimizer_history": [{"num_updates": 1}],
        "task_state": {"dictionary": Configured()},
        "extra_state": {"epoch": 1},
        "last_optimizer_state": {"state": {0: beside("exp_avg")}},
    }


FILES = {
    "ecg_founder": [ecg_founder, dict, lambda state: {"model": state}],
    "ecg_jepa": [ecg_jepa, dict],
    "st_mem": [st_mem, st_mem_encoder],
    "cpc": [cpc],
    "merl": [merl, dict],
    "ecgfm_ked": [ecgfm_ked, ecgfm_ked_flat, dict],
    "hubert_ecg": [hubert_ecg, lambda state: hubert_ecg(older(state))],
    "ecg_fm": [ecg_fm, lambda state: {"model": state}],
    "ecg_fm_seed": [ecg_fm],
}


def save(content: object, path):
    with hostile.passing("gone", Configured=Configured):
        torch.save(content, path)
    return path


@pytest.fixture(scope="module", params=PUBLISHED)
def encoder(request):
    yield encoders.create(request.param)
    gc.collect()


def empty(encoder) -> None:
    with torch.no_grad():
        for value in encoder.state_module.state_dict().values():
            value.zero_()


def arrived(encoder, expected, report) -> None:
    """Every key of the encoder has its number, but those that the file lacks."""
    state = encoder.state_module.state_dict()
    wrong = [
        key
        for key, value in expected.items()
        if key not in report.match.lacking and not bool((state[key] == value.reshape(-1)[0]).all())
    ]
    assert wrong == []
    assert set(state) == set(expected)


def test_every_published_card_is_tested():
    assert set(FILES) == set(PUBLISHED)


def test_each_key_arrives_where_it_belongs(encoder, tmp_path):
    card = encoders.card(encoder.name)
    expected = numbered(encoder.state_module)
    for write in FILES[encoder.name]:
        empty(encoder)
        path = save(write(expected), tmp_path / "file.pt")
        assert path.stat().st_size < 3e6
        report = load(encoder, path, card)
        arrived(encoder, expected, report)
        parameters = dict(encoder.state_module.named_parameters(remove_duplicate=False))
        lacking = sum(parameters[key].numel() for key in report.match.lacking if key in parameters)
        assert report.parameters == card.parameters - lacking


def test_a_lost_key_is_named(encoder, tmp_path):
    """The last one that nothing else may fill."""
    card = encoders.card(encoder.name)
    state = numbered(encoder.state_module)
    twins = aliases(encoder.state_module.state_dict(keep_vars=True))
    lost = [key for key in state if key not in twins and "linear" not in key and "decoder" not in key][-1]
    if encoder.name == "hubert_ecg":
        lost = "encoder.layers.11.final_layer_norm.bias"
    del state[lost]
    empty(encoder)
    with pytest.raises(EncoderError, match=f"1 keys that are missing: {lost}"):
        load(encoder, save(FILES[encoder.name][0](state), tmp_path / "file.pt"), card)
    assert not any(bool(value.any()) for value in encoder.state_module.state_dict().values())


def test_keds_nested_file_has_nothing_for_a_loader_of_flat_keys(tmp_path):
    """What the benchmark's loader does: it keeps the keys below ecg_model. and is not strict."""
    encoder = encoders.create("ecgfm_ked")
    expected = numbered(encoder.state_module)
    path = save(ecgfm_ked(expected), tmp_path / "file.pt")
    hidden = load(encoder, path, encoders.card("ecgfm_ked")).source.stubs
    assert hidden == ("gone.Configured",)
    with hostile.passing("gone", Configured=Configured):
        content = torch.load(path, weights_only=False)
    flat = {key: value for key, value in content.items() if key.startswith("ecg_model.")}
    assert flat == {}
    assert len(content["ecg_model"]) == len(expected)


def test_huberts_published_file_is_safetensors(tmp_path):
    encoder = encoders.create("hubert_ecg")
    card = encoders.card("hubert_ecg")
    assert card.file.endswith(".safetensors")
    expected = numbered(encoder.state_module)
    path = tmp_path / "file.safetensors"
    save_file({key: value.contiguous() for key, value in expected.items()}, path, metadata={"format": "pt"})
    try:
        report = load(encoder, path, card)
    finally:
        path.unlink()
    arrived(encoder, expected, report)
    assert report.match.lacking == []


@pytest.mark.parametrize("name", ["ecg_fm", "ecg_fm_seed"])
def test_the_checkpoints_configuration_reaches_ecg_fm(name, tmp_path):
    with torch.device("meta"):
        state = numbered(encoders.create(name).state_module)
    state = {key: torch.full((1,) * value.ndim, 0.5).expand(value.shape) for key, value in state.items()}
    content = {"cfg": {"model": {"layer_norm_first": "perhaps"}}, "model": state}
    encoder = encoders.create(name)
    if name == "ecg_fm":
        with pytest.raises(EncoderError, match="layer_norm_first 'perhaps'"):
            load(encoder, save(content, tmp_path / "file.pt"), encoders.card(name))
        return
    report = load(encoder, save(content, tmp_path / "file.pt"), encoders.card(name))
    assert "says otherwise" in report.notes[0]


@pytest.mark.parametrize("name", ["cpc", "hubert_ecg"])
def test_what_an_encoder_kept_of_its_old_weights_is_gone(name, tmp_path):
    """Both keep a kernel that they make of their weights, in eval mode."""
    card = encoders.card(name)
    torch.manual_seed(2)
    donor, used = encoders.create(name), encoders.create(name)
    window = torch.randn(1, 12, donor.model_seq_len)
    path = tmp_path / "file.pt"
    torch.save(donor.state_module.state_dict(), path)
    with torch.no_grad():
        expected = donor(window)[0]
        before = used(window)[0]
        try:
            load(used, path, card)
        finally:
            path.unlink()
        after = used(window)[0]
    assert not torch.allclose(before, expected, atol=1e-3)
    assert torch.allclose(after, expected, atol=1e-6)
