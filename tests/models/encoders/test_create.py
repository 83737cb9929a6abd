"""`create`, and what a user's own card and class may do wrong: each is said, and none hides the other encoders."""

import importlib
import json
import shutil
import sys
import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from torch import nn  # noqa: E402

from models import encoders  # noqa: E402
from models.encoders.card import EncoderError  # noqa: E402
from models.encoders.contract import Encoder  # noqa: E402
from models.encoders.listing import listed  # noqa: E402

cards = importlib.import_module("models.encoders.card")  # `encoders.card` is its function

GOOD = """
from torch import nn
from models.encoders.contract import Encoder


class Own(Encoder):
    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 4
    early = ("stem.",)

    def __init__(self):
        super().__init__()
        self.net = nn.ModuleDict({"stem": nn.Conv1d(12, 4, 5, 5), "tail": nn.Conv1d(4, 4, 1)})

    def encode(self, x):
        return self.net["tail"](self.net["stem"](x)).transpose(1, 2)
"""
CARD = {"title": "Own", "class": "own_encoder:Own"}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Writes the class and the card of an encoder ``own`` beside the published cards."""
    registry = tmp_path / "cards"
    shutil.copytree(cards.folder(), registry)
    monkeypatch.setattr(cards, "folder", lambda: registry)
    monkeypatch.syspath_prepend(tmp_path)

    def write(code: str = GOOD, card: dict | str = CARD) -> str:
        (tmp_path / "own_encoder.py").write_text(code, encoding="utf-8")
        (registry / "own.json").write_text(
            card if isinstance(card, str) else json.dumps(card), encoding="utf-8"
        )
        sys.modules.pop("own_encoder", None)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        return "own"

    yield write
    sys.modules.pop("own_encoder", None)


def checkpoint(**rules):
    return {**CARD, "checkpoint": rules}


def test_a_right_one_is_made(own):
    encoder = encoders.create(own())
    sequence, pooled = encoder(torch.randn(2, 12, 100))
    assert (sequence.shape, pooled.shape) == ((2, 20, 4), (2, 4))


@pytest.mark.parametrize(
    ("card", "said"),
    [
        (checkpoint(may_lack="^tail"), "may_lack: found '^tail'; expected a list of texts"),
        (checkpoint(containers="state_dict"), "containers: found 'state_dict'; expected a list of texts"),
        (checkpoint(strip="module."), "strip: found 'module.'; expected a list of texts"),
        (checkpoint(drop=[3]), "drop: found [3]; expected a list of texts"),
        (checkpoint(drop=None), "drop: found None; expected a list of texts"),
        (checkpoint(drop=["("]), "no regular expression"),
        (checkpoint(rename=[["a"]]), "rename: found [['a']]; expected a list of pairs"),
        (checkpoint(rename=[["a", "\\2"]]), "no regular expression"),
        (checkpoint(file=3), "file: found 3; expected a text"),
        ({**CARD, "parameters": "3 M"}, "parameters: found '3 M'; expected a whole number"),
        ({**CARD, "options": [1]}, "options: found [1]; expected an object"),
        ({**CARD, "class": "own_encoder.Own"}, "expected a title, and a class as <module>:<class>"),
        ({**CARD, "licence": "MIT", "autor": "me"}, "found the fields autor in the card"),
        ("{", "no JSON"),
    ],
)
def test_a_wrong_card_is_said_and_hides_no_other(own, card, said):
    name = own(card=card)
    with pytest.raises(EncoderError) as error:
        encoders.create(name)
    assert said in str(error.value)
    rows = {each.name: each for each in listed()}
    assert said in rows["own"].fault
    assert said in rows["own"].as_text()
    assert rows["merl"].fault is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("class Own", "class Own(", "SyntaxError"),
        ("class Own", "1 / 0\nclass Own", "ZeroDivisionError"),
        ("class Own", "class Other", "has no attribute 'Own'"),
        ("1.0, 100, 100, 4", "'1', 100, 100, 4", "found chunk_seconds '1'; expected a positive number"),
        (
            "    chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 4\n",
            "",
            "declares no chunk_seconds",
        ),
        ('("stem.",)', '("stem.")', "found early 'stem.'; expected a tuple of texts"),
        ("early", "leads = ('X',)\n    early", "found the leads X"),
        ("early", "units = 'uV'\n    early", "found units 'uV'; a window comes in mV"),
    ],
)
def test_a_wrong_class_is_said_and_hides_no_other(own, old, new, said):
    assert old in GOOD
    name = own(GOOD.replace(old, new))
    with pytest.raises(EncoderError) as error:
        encoders.create(name)
    assert said in str(error.value)
    rows = {each.name: each for each in listed()}
    assert said in rows["own"].fault
    assert rows["merl"].fault is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("        super().__init__()\n", "", "cannot be made (AttributeError"),
        ("self.net = ", "self.nett = ", "builds no self.net"),
        ("def encode", "def forward", "defines forward; expected encode(self, x)"),
        ("def encode", "def encoded", "defines no encode(self, x)"),
    ],
)
def test_a_class_that_cannot_be_made_is_said(own, old, new, said):
    with pytest.raises(EncoderError) as error:
        encoders.create(own(GOOD.replace(old, new)))
    assert said in str(error.value)


def test_options_that_the_class_does_not_take_are_said(own):
    with pytest.raises(EncoderError, match=r"cannot be made with the options {'width': 3}"):
        encoders.create(own(card={**CARD, "options": {"width": 3}}))


def test_a_beginning_that_no_parameter_has_is_said(own):
    encoder = encoders.create(own(GOOD.replace('("stem.",)', '("stme.",)')))
    with pytest.raises(EncoderError, match=r"no parameter's name begins with 'stme\.'"):
        encoder.layer_groups()


def test_the_file_under_the_root_is_not_forgotten(own, tmp_path, monkeypatch):
    name = own(card=checkpoint(file="own/best.pt"))
    with pytest.raises(
        EncoderError, match=r"found no checkpoint; expected own/best.pt in a folder that \$LEADHOUSE"
    ):
        encoders.create(name, checkpoint=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = encoders.create(name)
    (tmp_path / "root" / "own").mkdir(parents=True)
    torch.save(first.state_module.state_dict(), tmp_path / "root" / "own" / "best.pt")
    monkeypatch.setenv("LEADHOUSE_CHECKPOINTS", str(tmp_path / "root"))
    with pytest.warns(UserWarning, match="own has random weights; checkpoint=True loads"):
        random = encoders.create(name)
    loaded = encoders.create(name, checkpoint=True)
    x = torch.randn(1, 12, 100)
    assert torch.equal(loaded(x)[1], first(x)[1])
    assert not torch.equal(random(x)[1], first(x)[1])


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"checkpoint": 3}, "checkpoint: found 3; expected a path, or True"),
        ({"parity": "no"}, "parity: found 'no'; expected True or False"),
        ({"nan": "mean"}, "nan: found 'mean'"),
    ],
)
def test_arguments_are_held(how, said):
    with pytest.raises(EncoderError, match=said):
        encoders.create("dummy", **how)


def test_a_name_is_no_path():
    with pytest.raises(EncoderError, match=r"found no encoder '\.\./encoders/dummy'"):
        encoders.create("../encoders/dummy")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_weights_may_have_another_type(dtype):
    encoder = encoders.create("dummy")
    x = torch.randn(2, 12, 250)
    expected = encoder(x)[1]
    found = encoder.to(dtype)(x)[1]
    assert found.dtype == torch.float32
    assert torch.allclose(found, expected, atol=1e-5 if dtype == torch.float64 else 0.05)


@pytest.mark.parametrize("name", ["merl", "cpc"])
@pytest.mark.parametrize("fs", [257, 97.3, 333.33])
def test_a_window_may_end_between_two_samples(name, fs):
    """2.5 s are 642.5 samples at 257 Hz: a user cuts 642 or 643."""
    encoder = encoders.create(name)
    exact = encoder.chunk_seconds * fs
    time = torch.arange(int(exact) + 1) / fs
    x = torch.sin(2 * torch.pi * 3 * time).expand(1, 12, -1)
    shorter, longer = encoder(x[..., : int(exact)], fs=fs)[1], encoder(x, fs=fs)[1]
    assert (shorter - longer).abs().max() < 0.05 * longer.abs().max()
    for samples in (int(exact) - 1, int(exact) + 2):
        with pytest.raises(EncoderError, match=r"too (short|long)"):
            encoder(torch.zeros(1, 12, samples), fs=fs)


def test_frozen_holds_inside_another_module():
    encoder = encoders.create("merl").freeze()
    whole = nn.ModuleDict({"encoder": encoder, "head": nn.Linear(512, 2)})
    before = {key: value.clone() for key, value in encoder.state_dict().items()}
    whole.requires_grad_(True)
    encoder.net.train()
    _, pooled = encoder(torch.randn(2, 12, 1250))
    whole["head"](pooled).sum().backward()
    assert all(each.grad is None and not each.requires_grad for each in encoder.parameters())
    assert not any(each.training for each in encoder.modules())
    assert all(torch.equal(before[key], value) for key, value in encoder.state_dict().items())


@pytest.mark.parametrize(
    ("x", "how", "said"),
    [
        (torch.zeros(1, 12, 250), {"fs": 10**400}, "fs: found 1000"),
        (torch.zeros(1, 12, 250), {"leads": 12}, "leads: found 12"),
        (torch.zeros(1, 12, 250, device="meta"), {}, "a meta tensor"),
        (torch.zeros(1, 12, 250).to_sparse(), {}, "a sparse tensor"),
    ],
)
def test_odd_input_is_said(x, how, said):
    with pytest.raises(EncoderError, match=said):
        encoders.create("dummy")(x, **how)


def test_an_adopted_modules_groups_are_a_dictionary():
    class Theirs(nn.Module):
        chunk_seconds, model_fs, model_seq_len, feature_dim = 1.0, 100, 100, 4

        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(12, 4, 5)

        def get_layer_groups(self):
            return [list(self.parameters())]

    from models.encoders.contract import adopt

    with pytest.raises(EncoderError, match="get_layer_groups: found list; expected a dictionary"):
        adopt(Theirs()).layer_groups()
    assert isinstance(adopt(Theirs()), Encoder)
