"""Every key of a checkpoint is accounted for by its card's rules, or named, and then nothing is loaded."""

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models.encoders.card import EncoderError
from models.encoders.checkpoint import check, load
from tests.models.encoders import hostile
from tests.models.encoders.probe import Small, changed, holds, refused, rules, save, weights, without

pytestmark = pytest.mark.usefixtures("one_thread")


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
