"""Networks for pieces of a lead: sizes that follow from the paper, layouts, and what freezing keeps."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from models import INPUTS, make  # noqa: E402
from models.heartbeat import BeatNet, KachueeNet  # noqa: E402


def weights(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize(
    ("outputs", "dense_layers", "pool", "expected"),
    [
        (5, 2, "valid", 55_013),
        (5, 1, "valid", 53_957),
        (2, 2, "valid", 54_914),
        (5, 2, "same", 59_109),
    ],
)
def test_the_papers_network_has_as_many_weights(outputs, dense_layers, pool, expected):
    model = KachueeNet(outputs, dense_layers=dense_layers, pool=pool)
    assert weights(model) == expected
    assert model(torch.rand(3, 187)).shape == (3, outputs)


@pytest.mark.parametrize("pool", ["valid", "same"])
def test_it_is_the_network_of_1d_layers(pool):
    """The same weights in torch's own 1-D layers, written from the paper's figure."""
    torch.manual_seed(1)
    model = KachueeNet(5, pool=pool).eval()
    state = model.state_dict()

    def conv(x, name):
        return functional.conv1d(
            x, state[f"features.{name}.weight"][:, :, 0], state[f"features.{name}.bias"], padding=2
        )

    values = torch.rand(4, 187)
    x = conv(values[:, None], "0")
    lengths = []
    for block in range(1, 6):
        x = functional.relu(x + conv(functional.relu(conv(x, f"{block}.one")), f"{block}.two"))
        if pool == "same":  # as wide as needed for ceil(n / 2), the odd value at the end
            wanted = -(-x.shape[-1] // 2)
            lacking = max(0, 2 * (wanted - 1) + 5 - x.shape[-1])
            x = functional.pad(x, (lacking // 2, lacking - lacking // 2), value=-1e9)
        x = functional.max_pool1d(x, 5, 2)
        lengths.append(x.shape[-1])
    assert lengths == ([92, 44, 20, 8, 2] if pool == "valid" else [94, 47, 24, 12, 6])
    x = x.flatten(1)
    for layer in (0, 2):
        x = functional.relu(
            functional.linear(x, state[f"dense.{layer}.weight"], state[f"dense.{layer}.bias"])
        )
    x = functional.linear(x, state["dense.4.weight"], state["dense.4.bias"])
    assert torch.allclose(model(values), x, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, kind in INPUTS.items() if kind != "images"])
def test_every_network_gives_an_output_a_class(name):
    model = make(name, 3).eval()
    samples = 625 if INPUTS[name] == "windows" else 187
    made = model(torch.rand(2, samples))
    assert made.shape == (2, 3)
    assert torch.isfinite(made).all()


@pytest.mark.parametrize("make_one", [BeatNet, KachueeNet])
def test_frozen_convolutions_stay_as_they_are(make_one):
    """Neither a weight nor a batch statistic moves, and the dense layers learn."""
    torch.manual_seed(0)
    model = make_one(2)
    model.freeze()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimiser = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=0.1)
    model.train()
    for _ in range(3):
        loss = functional.cross_entropy(model(torch.rand(8, 187) * 5), torch.arange(8) % 2)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    moved = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert moved
    assert all(name.startswith("dense.") for name in moved)


def test_batch_statistics_move_where_nothing_is_frozen():
    model = BeatNet(2)
    before = model.features[1].running_mean.clone()
    model.train()(torch.rand(8, 187))
    assert not torch.equal(model.features[1].running_mean, before)


def test_convolutions_of_another_network_are_refused():
    with pytest.raises((KeyError, RuntimeError)):
        BeatNet(2).take_features(KachueeNet(5).state_dict())
    one, other = BeatNet(5), BeatNet(2)
    kept = other.take_features(one.state_dict())
    assert kept == ["dense.1.weight", "dense.1.bias"]
    assert torch.equal(other.features[0].weight, one.features[0].weight)
