"""Every encoder against the reference: keys, shapes, dtypes, counts, and its features under both weight rules."""

import gc
import json

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

from models import encoders
from tests.models.encoders import golden

GOLDENS = {name: name for name in encoders.names() if name not in ("dummy", "ecg_fm", "ecg_fm_seed")}
GOLDENS |= {"ecg_fm": "ecg_fm_upstream", "ecg_fm_seed": "ecg_fm"}
GOLDENS = {name: reference for name, reference in sorted(GOLDENS.items()) if name in encoders.names()}
WITHIN = {"cpc": 1e-4}
"""Of the absolute maximum; 1e-5 for all others (1e-3 and 1e-4 are demanded)."""


@pytest.fixture(scope="module", params=GOLDENS)
def encoder(request):
    yield encoders.create(request.param, parity=True)
    gc.collect()


@golden.needs_golden
def test_it_gives_the_references_features(encoder):
    deviations = golden.module("verify_golden").check(
        encoder, encoder.state_module, GOLDENS[encoder.name], tol=WITHIN.get(encoder.name, 1e-5)
    )
    assert len(deviations) >= 6


@golden.needs_golden
def test_its_state_is_the_references(encoder):
    expected = golden.inventory(GOLDENS[encoder.name])
    state = encoder.state_module.state_dict()
    found = {
        key: (list(value.shape), str(value.dtype).removeprefix("torch.")) for key, value in state.items()
    }
    assert found == {key: (each["shape"], each["dtype"]) for key, each in expected.items()}


@golden.needs_golden
def test_its_groups_are_the_benchmarks(encoder):
    reference = json.loads((golden.GOLDEN / f"{GOLDENS[encoder.name]}_golden.json").read_text())
    expected = reference["layer_groups"]
    groups = {
        name: (len(group), sum(each.numel() for each in group))
        for name, group in encoder.layer_groups().items()
    }
    if not isinstance(expected, dict) or "early" not in expected:
        pytest.skip("the benchmark's adapter names no groups")
    assert {name: groups[name] for name in ("early", "late")} == {
        name: (expected[name]["tensors"], expected[name]["params"]) for name in ("early", "late")
    }
    assert groups.get("unused", (0, 0))[1] == expected["params_in_no_group"]


def test_its_parameters_are_counted_and_each_in_one_group(encoder):
    parameters = list(encoder.parameters())
    grouped = [each for group in encoder.layer_groups().values() for each in group]
    assert sorted(map(id, grouped)) == sorted(map(id, parameters))
    assert sum(each.numel() for each in parameters) == encoders.card(encoder.name).parameters
