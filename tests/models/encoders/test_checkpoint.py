"""A checkpoint among the encoders: whose it is, how `create` takes it, and what is left behind."""

import json

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders.card import EncoderError
from models.encoders.checkpoint import check, load
from tests.models.encoders.probe import Small, holds, rules, save, weights

pytestmark = pytest.mark.usefixtures("one_thread")


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
    path, card = save(weights(), tmp_path / "file.pt"), rules()
    report = load(Small(), path, card)
    assert report.match.weights == {}
    assert json.loads(json.dumps(report.as_json()))["ok"] is True
