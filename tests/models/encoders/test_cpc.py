"""CPC: the state-space kernel against its recurrence, its cache, and what public adapters of this encoder get wrong."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import torch

from models import encoders
from models.encoders import s4
from models.encoders.card import EncoderError
from tests.models.encoders import golden, intermediate, weights


@pytest.fixture(scope="module")
def filled():
    made = encoders.create("cpc")
    weights.fill(made.state_module)
    return made


@pytest.fixture
def cpc(filled):
    return copy.deepcopy(filled)


def layer_of(encoder, place=0):
    return encoder.net.predictor.s4_layers[place]


def kernel_of(encoder, place=0):
    return layer_of(encoder, place).kernel["kernel"]


# The kernel


def whole(half):
    """Of conjugated pairs both."""
    return np.concatenate((half, half.conj()), -1)


def recurrence(c, b, p, q, w, dt, taps):
    """The kernel of one channel by stepping the bilinear discretisation of its state through time."""
    state = np.diag(whole(w)) - np.outer(whole(p), whole(q))
    eye = np.eye(len(state))
    step = np.linalg.inv(eye - dt / 2 * state)
    turn, into = step @ (eye + dt / 2 * state), step @ whole(b) * dt
    out = whole(c) @ np.linalg.inv(eye - np.linalg.matrix_power(turn, s4.GRID))
    made = []
    for _ in range(taps):
        made.append((out @ into).real)
        into = turn @ into
    return np.array(made)


@pytest.mark.parametrize("own", [True, False], ids=["LegS", "any state"])
def test_the_kernel_is_the_recurrence(own):
    random = np.random.default_rng(5)

    def draw():
        return random.standard_normal((6, 4)) + 1j * random.standard_normal((6, 4))

    c, log_dt = draw(), np.log(random.uniform(1e-3, 1e-1, 6))
    w, b, p = (np.tile(each, (6, 1)) for each in s4.legs())
    q = p.conj()
    if not own:
        w, b, p, q = -0.5 + 1j * random.uniform(0, 20, (6, 4)), draw(), 0.2 * draw(), 0.2 * draw()
    given = (c, b, p, q, w, log_dt, *s4.frequencies())
    found = s4.taps(*map(torch.from_numpy, given)).numpy()[:, :300]
    expected = np.stack(
        [recurrence(*(each[h] for each in given[:5]), np.exp(log_dt[h]), 300) for h in range(6)]
    )
    assert np.abs(found - expected).max() < 2e-7 * np.abs(expected).max()


def test_the_stored_kernel_is_the_recurrence_in_single_precision(cpc):
    kernel = kernel_of(cpc)
    with torch.no_grad():
        found = torch.fft.irfft(kernel(300), n=600)[:, :300].numpy()
    c, b, p, q = (
        torch.view_as_complex(each[0].double()).detach().numpy()
        for each in (kernel.C, kernel.B, kernel.P, kernel.Q)
    )
    w, dt = torch.view_as_complex(kernel.w.double()).numpy(), kernel.log_dt.double().exp().numpy()
    for h in (0, 100, 511):
        expected = recurrence(c[h], b[h], p[h], q[h], w[h], dt[h], 300)
        assert np.abs(found[h] - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_state_at_first_is_hippo_legs():
    """Poles and inputs against the matrices themselves, by what no change of basis changes."""
    w, b, p = s4.legs()
    state = np.diag(whole(w)) - np.outer(whole(p), whole(p.conj()))
    assert np.allclose(np.sort(np.linalg.eigvals(state).real), np.arange(-8.0, 0))
    n = np.arange(8)
    matrix = np.array(
        [[-np.sqrt((2 * i + 1) * (2 * j + 1)) if i > j else -(i + 1.0) * (i == j) for j in n] for i in n]
    )
    into, along = np.sqrt(2 * n + 1), np.sqrt(n + 0.5)
    for power in range(8):
        expected = along @ np.linalg.matrix_power(matrix, power) @ into
        assert np.isclose(whole(p.conj()) @ np.linalg.matrix_power(state, power) @ whole(b), expected)
    assert np.allclose(np.abs(p) ** 2 * 2, np.abs(b) ** 2)


def test_every_channel_and_layer_starts_with_that_state():
    made = encoders.create("cpc")
    w, b, p = s4.legs()
    for place in range(4):
        kernel = kernel_of(made, place)
        for found, expected in ((kernel.w, w), (kernel.B[0], b), (kernel.P[0], p), (kernel.Q[0], p.conj())):
            assert np.allclose(torch.view_as_complex(found).numpy(), expected, atol=1e-6)
        assert ((kernel.log_dt.exp() >= 1e-3) & (kernel.log_dt.exp() <= 1e-1)).all()


def test_the_last_frequency_is_finite_and_whole_in_single_precision():
    omega, z = (each.astype(np.complex64) for each in s4.frequencies())
    assert np.isfinite(z).all()
    one = np.complex64(1)
    assert z[-1] == 2 * (one - omega[-1]) / (one + omega[-1]) == 2**22 - 2
    assert np.allclose(omega[:-1], np.exp(-2j * np.pi * np.arange(600) / 1200), atol=1e-7)


def test_the_grid_has_its_length_whatever_the_input_has(cpc):
    kernel = kernel_of(cpc)
    with torch.no_grad():
        short, long = (torch.fft.irfft(kernel(length), n=2 * length) for length in (100, 1200))
    assert torch.allclose(short[:, :100], long[:, :100], atol=1e-6)
    with pytest.raises(EncoderError, match="found 1201 steps; the kernel has 1200"):
        kernel(1201)


# The layers


def test_a_layer_is_the_causal_sum_its_gelu_and_the_gate():
    layer = s4.S4(4).double().eval()
    u = torch.randn(2, 4, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        kernel = torch.fft.irfft(layer.kernel["kernel"](50), n=100)[:, :50]
        y = torch.zeros_like(u)
        for t in range(50):
            y[..., t] = (kernel[:, : t + 1].flip(-1) * u[..., : t + 1]).sum(-1)
        y = y + layer.D[0, :, None] * u
        y = y * 0.5 * (1 + torch.erf(y / 2**0.5))
        mix = layer.output_linear[0]
        y = torch.einsum("oi,bit->bot", mix.weight, y) + mix.bias
        expected = y[:, :4] * torch.sigmoid(y[:, 4:])
        assert torch.allclose(layer(u), expected, atol=1e-10)


def test_a_layer_gets_the_encoder_as_it_is_and_is_normed_after_the_sum(cpc):
    """No projection between: one of random weights costs 0.10 of AUROC and changes no shape."""
    seen = {}

    def note(module, given, made):
        seen[module] = given[0], made

    predictor = cpc.net.predictor
    for module in (cpc.net.encoder, *predictor.s4_layers, *predictor.norms):
        module.register_forward_hook(note)
    with torch.no_grad():
        sequence, pooled = cpc(weights.window(cpc, 2))
    before = seen[cpc.net.encoder][1].transpose(1, 2)
    for layer, norm in zip(predictor.s4_layers, predictor.norms, strict=True):
        given, made = seen[layer]
        assert torch.equal(given.transpose(1, 2), before)
        assert torch.allclose(seen[norm][0], made.transpose(1, 2) + before)
        before = seen[norm][1]
    assert torch.equal(sequence, before)
    assert torch.equal(pooled, before.mean(1))


def test_a_step_knows_no_later_sample(cpc):
    x = weights.window(cpc, 2)
    later = x.clone()
    later[..., 400:] += 1
    with torch.no_grad():
        one, other = cpc(x)[0], cpc(later)[0]
    assert (one[:, :200] - other[:, :200]).abs().max() < 1e-4
    assert (one[:, 200:] - other[:, 200:]).abs().max() > 0.1


def test_a_fault_in_the_predictor_is_no_reason_for_the_encoders_features(cpc, monkeypatch):
    def fault(*numbers):
        raise RuntimeError("no kernel")

    monkeypatch.setattr(s4, "taps", fault)
    with torch.no_grad(), pytest.raises(RuntimeError, match="no kernel"):
        cpc(weights.window(cpc, 1))


@golden.needs_golden
def test_what_its_modules_give_is_the_references(cpc):
    shipped = np.load(golden.GOLDEN / "cpc_s4_constants.npz")
    constants = {
        key: shipped[name]
        for key in cpc.state_module.state_dict()
        if ".kernel.kernel." in key and (name := key.rpartition(".")[2]) in shipped.files
    }
    assert len(constants) == 24
    assert intermediate.hold(cpc, "cpc", prefix="", constants=constants) == 7


# The cache


@pytest.fixture
def made(monkeypatch):
    """How many kernels were computed so far."""
    count, taps = [], s4.taps
    monkeypatch.setattr(s4, "taps", lambda *numbers: count.append(1) or taps(*numbers))
    return count


def test_without_gradients_a_kernel_is_computed_once(cpc, made):
    x = weights.window(cpc, 1)
    with torch.no_grad():
        first = cpc(x)[0]
        assert len(made) == 4
        assert torch.equal(cpc(x)[0], first)
        cpc(torch.cat((x, x)))
    assert len(made) == 4


def _load(kernel):
    kernel.load_state_dict({key: value + 0.01 for key, value in kernel.state_dict().items()})


def _in_place(kernel):
    with torch.no_grad():
        kernel.C.mul_(1.5)


def _data(kernel):
    kernel.C.data.mul_(1.5)


def _other_data(kernel):
    kernel.C.data = kernel.C.data * 1.5


def _buffer(kernel):
    kernel.log_dt += 0.1


def _optimizer(kernel):
    with torch.enable_grad():
        torch.view_as_real(kernel(300)).pow(2).sum().backward()
    torch.optim.SGD([kernel.C], lr=1.0).step()


@pytest.mark.parametrize("change", [_load, _in_place, _data, _other_data, _buffer, _optimizer])
def test_a_changed_weight_gives_a_new_kernel(cpc, change):
    kernel = kernel_of(cpc)
    with torch.no_grad():
        before = kernel(300).clone()
        change(kernel)
        after = kernel(300)
        kernel._known = None
        assert torch.equal(after, kernel(300))
    assert (after - before).abs().max() > 1e-3 * before.abs().max()


def test_training_and_another_dtype_drop_the_kernel(cpc, made):
    kernel = kernel_of(cpc)
    with torch.no_grad():
        kernel(300)
        cpc.train()
        assert kernel._known is None
        cpc.eval()
        kernel(300)
        cpc.double()
        assert kernel._known is None
        assert kernel(300).dtype == torch.complex128
    assert len(made) == 3


def test_a_kernel_of_inference_mode_serves_a_gradient_later(cpc):
    """A frozen kernel below layers that learn: its gradient is not wanted, that of its input is."""
    layer = layer_of(cpc).requires_grad_(False)
    with torch.inference_mode():
        layer(torch.zeros(1, 512, 300))
    u = torch.ones(1, 512, 300, requires_grad=True)
    layer(u).sum().backward()
    assert u.grad.abs().min() > 0


def test_half_precision_leaves_the_kernel_alone(cpc):
    x = weights.window(cpc, 2)
    with torch.no_grad():
        expected = cpc(x)[0]
        cpc.bfloat16()
        assert {each.dtype for each in kernel_of(cpc).state_dict().values()} == {torch.float32}
        assert cpc.net.encoder[0][0].weight.dtype == layer_of(cpc).D.dtype == torch.bfloat16
        found = cpc.encode(x.bfloat16()).float()
    assert (found - expected).norm() < 0.05 * expected.norm()


# Training


def test_every_parameter_gets_a_gradient(cpc):
    cpc.train()
    sequence, _ = cpc(weights.window(cpc, 2))
    sequence.pow(2)[:, :150].sum().backward()
    without = [
        name for name, each in cpc.named_parameters() if each.grad is None or not each.grad.abs().max()
    ]
    assert not without


def test_in_train_mode_nothing_is_dropped(cpc):
    x = weights.window(cpc, 2)
    with torch.no_grad():
        expected = cpc(x)[0]
        cpc.train()
        for each in cpc.modules():
            if isinstance(each, torch.nn.BatchNorm1d):
                each.eval()
        assert torch.allclose(cpc(x)[0], expected, atol=1e-5)


def test_frozen_it_keeps_the_statistics_of_its_batch_norms(cpc):
    before = {key: value.clone() for key, value in cpc.state_dict().items()}
    cpc.freeze().train()
    cpc(weights.window(cpc, 2))
    assert all(torch.equal(before[key], value) for key, value in cpc.state_dict().items())


def test_its_state_loads_whole_and_by_itself(cpc):
    """The reference's buffers are views of one channel, which cannot be loaded into."""
    state = {
        key: torch.randn_like(value) if value.is_floating_point() else value
        for key, value in cpc.state_module.state_dict().items()
    }
    assert len(state) == 76
    cpc.state_module.load_state_dict(state, strict=True)
    assert all(torch.equal(value, state[key]) for key, value in cpc.state_module.state_dict().items())


# Its file


def lightning(encoder):
    """The keys as the authors save them, and some of the pre-training's."""
    names = (("encoder.", "ts_encoder.encoder.layers."), ("predictor.", "ts_encoder.predictor.predictor."))
    state = {}
    for key, value in encoder.state_module.state_dict().items():
        ours, theirs = next(each for each in names if key.startswith(each[0]))
        state[theirs + key.removeprefix(ours)] = value
    state["ts_head.0.weight"] = state["criterion.temperature"] = torch.ones(3)
    return {"epoch": 7, "hyper_parameters": {"lr": 1e-3}, "state_dict": state}


def test_it_loads_the_authors_file(cpc, tmp_path):
    path = tmp_path / "last.ckpt"
    torch.save(lightning(cpc), path)
    made = encoders.create("cpc", checkpoint=path)
    x = weights.window(cpc, 2)
    with torch.no_grad():
        assert torch.equal(made(x)[0], cpc(x)[0])


def test_a_projection_in_the_predictor_is_no_key_to_pass_over(cpc, tmp_path):
    saved = lightning(cpc)
    saved["state_dict"]["ts_encoder.predictor.predictor.encoder.weight"] = torch.ones(512, 512)
    torch.save(saved, tmp_path / "other.ckpt")
    with pytest.raises(
        EncoderError, match=r"no rule of the card covers: ts_encoder\.predictor\.predictor\.encoder"
    ):
        encoders.create("cpc", checkpoint=tmp_path / "other.ckpt")
