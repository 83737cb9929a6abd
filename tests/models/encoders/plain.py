"""The eight encoders a second time, each as one function of a state dict and a window, written from its fact sheet.

Nothing is fused, cached or left out, and nothing of ``models/`` is used: scores are a matrix, softmax is a call, every
kernel is built when it is needed. Tests hold the encoders against these; the benchmark times both in one process.

A window is float32 (B, 12, model_seq_len) in mV; the result is (sequence (B, T, D), pooled (B, D)).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch.nn import functional as F

State = dict[str, torch.Tensor]
Features = tuple[torch.Tensor, torch.Tensor]


def _linear(s: State, name: str, x: torch.Tensor) -> torch.Tensor:
    y = x @ s[f"{name}.weight"].T
    return y + s[f"{name}.bias"] if f"{name}.bias" in s else y


def _norm(s: State, name: str, x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5)
    return scaled * s[f"{name}.weight"] + s[f"{name}.bias"]


def _batch_norm(s: State, name: str, x: torch.Tensor) -> torch.Tensor:
    mean, var = s[f"{name}.running_mean"][:, None], s[f"{name}.running_var"][:, None]
    return (x - mean) / torch.sqrt(var + 1e-5) * s[f"{name}.weight"][:, None] + s[f"{name}.bias"][:, None]


def _group_norm(s: State, name: str, x: torch.Tensor, groups: int) -> torch.Tensor:
    grouped = x.reshape(len(x), groups, -1)
    centred = grouped - grouped.mean(-1, keepdim=True)
    scaled = (centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5)).reshape(x.shape)
    return scaled * s[f"{name}.weight"][:, None] + s[f"{name}.bias"][:, None]


def _gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))


def _swish(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


def _attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int, allowed: torch.Tensor | None = None
) -> torch.Tensor:
    """(B, T, D) three times → (B, T, D); ``allowed`` is boolean (T, T)."""
    q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (q, k, v))
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)


def merl(s: State, x: torch.Tensor) -> Features:
    x = torch.relu(_batch_norm(s, "bn1", F.conv1d(x, s["conv1.weight"], stride=2, padding=3)))
    for layer, first in ((1, 1), (2, 2), (3, 2), (4, 2)):
        for block in (0, 1):
            at, stride = f"layer{layer}.{block}", first if block == 0 else 1
            y = F.conv1d(x, s[f"{at}.conv1.weight"], stride=stride, padding=1)
            y = F.conv1d(torch.relu(_batch_norm(s, f"{at}.bn1", y)), s[f"{at}.conv2.weight"], padding=1)
            if f"{at}.shortcut.0.weight" in s:
                x = _batch_norm(
                    s, f"{at}.shortcut.1", F.conv1d(x, s[f"{at}.shortcut.0.weight"], stride=stride)
                )
            x = torch.relu(_batch_norm(s, f"{at}.bn2", y) + x)
    return x.transpose(1, 2), x.mean(-1)


def _same(s: State, name: str, x: torch.Tensor, stride: int = 1, groups: int = 1) -> torch.Tensor:
    weight, samples = s[f"{name}.conv.weight"], x.shape[-1]
    pad = max(0, (math.ceil(samples / stride) - 1) * stride + weight.shape[-1] - samples)
    padded = F.pad(x, (pad // 2, pad - pad // 2))
    return F.conv1d(padded, weight, s[f"{name}.conv.bias"], stride=stride, groups=groups)


def ecg_founder(s: State, x: torch.Tensor) -> Features:
    x = _swish(_same(s, "first_conv", x, stride=2))
    widths, blocks = (64, 160, 160, 400, 400, 1024, 1024), (2, 2, 2, 3, 3, 4, 4)
    for stage, (width, count) in enumerate(zip(widths, blocks, strict=True)):
        for block in range(count):
            at, stride = f"stage_list.{stage}.block_list.{block}", 2 if block == 0 else 1
            y = x if (stage, block) == (0, 0) else _swish(x)
            y = _swish(_same(s, f"{at}.conv1", y))
            y = _swish(_same(s, f"{at}.conv2", y, stride, groups=width // 16))
            y = _same(s, f"{at}.conv3", y)
            gate = _swish(_linear(s, f"{at}.se_fc1", y.mean(-1)))
            y = y * torch.sigmoid(_linear(s, f"{at}.se_fc2", gate))[..., None]
            if stride == 2:
                x = F.max_pool1d(F.pad(x, (0, 1)), 2)
            missing = width - x.shape[1]
            x = y + F.pad(x, (0, 0, missing // 2, missing - missing // 2))
    return x.transpose(1, 2), x.mean(-1)


def ecgfm_ked(s: State, x: torch.Tensor) -> Features:
    for stem, stride in enumerate((2, 1, 1)):
        x = F.conv1d(x, s[f"{stem}.0.weight"], stride=stride, padding=2)
        x = torch.relu(_batch_norm(s, f"{stem}.1", x))
    x = F.max_pool1d(x, 3, stride=2, padding=1)
    for stage, count, first in ((4, 3, 1), (5, 4, 2), (6, 23, 2), (7, 3, 2)):
        for block in range(count):
            at, stride = f"{stage}.{block}", first if block == 0 else 1
            y = torch.relu(_batch_norm(s, f"{at}.convs.0.1", F.conv1d(x, s[f"{at}.convs.0.0.weight"])))
            y = F.conv1d(y, s[f"{at}.convs.1.0.weight"], stride=stride, padding=2)
            y = torch.relu(_batch_norm(s, f"{at}.convs.1.1", y))
            y = _batch_norm(s, f"{at}.convs.2.1", F.conv1d(y, s[f"{at}.convs.2.0.weight"]))
            if stride == 2:
                x = F.avg_pool1d(x, 2, ceil_mode=True)
            for place in (0, 1):
                if f"{at}.idpath.{place}.0.weight" in s:
                    x = F.conv1d(x, s[f"{at}.idpath.{place}.0.weight"])
                    x = _batch_norm(s, f"{at}.idpath.{place}.1", x)
            x = torch.relu(y + x)
    return x.transpose(1, 2), x.mean(-1)


def ecg_jepa(s: State, x: torch.Tensor) -> Features:
    """The mask as a matrix of 400 × 400."""
    x = x[:, [0, 1, 6, 7, 8, 9, 10, 11]].reshape(len(x), 400, 50)
    token = torch.arange(400)
    lead, patch = token // 50, token % 50
    allowed = (lead[:, None] == lead) | (patch[:, None] == patch)
    x = _linear(s, "W_P", x)
    for block in range(12):
        at = f"encoder_blocks.blocks.{block}"
        x = x + s["pos_embed"]
        q, k, v = _linear(s, f"{at}.attn.qkv", _norm(s, f"{at}.norm1", x)).chunk(3, -1)
        x = x + _linear(s, f"{at}.attn.proj", _attend(q, k, v, 16, allowed))
        y = _gelu(_linear(s, f"{at}.mlp.fc1", _norm(s, f"{at}.norm2", x)))
        x = x + _linear(s, f"{at}.mlp.fc2", y)
    x = _norm(s, "norm", x)
    return x, x.mean(1)


def st_mem(s: State, x: torch.Tensor) -> Features:
    x = _norm(s, "encoder.to_patch_embedding.1", x.unflatten(-1, (-1, 75)))
    x = _norm(s, "encoder.to_patch_embedding.3", _linear(s, "encoder.to_patch_embedding.2", x))
    places = s["encoder.pos_embedding"][0]
    patches = x.shape[2]
    x = x + places[1 : patches + 1]
    ends = [(s["encoder.sep_embedding"] + places[row]).expand(len(x), 12, 1, -1) for row in (0, -1)]
    x = torch.cat([ends[0], x, ends[1]], 2)
    x = x + torch.stack([s[f"encoder.lead_embeddings.{lead}"] for lead in range(12)])[:, None]
    x = x.flatten(1, 2)
    for block in range(12):
        at = f"encoder.block{block}"
        q, k, v = _linear(s, f"{at}.attn.fn.to_qkv", _norm(s, f"{at}.attn.norm", x)).chunk(3, -1)
        x = x + _linear(s, f"{at}.attn.fn.to_out.0", _attend(q, k, v, 12))
        y = _gelu(_linear(s, f"{at}.ff.fn.net.0", _norm(s, f"{at}.ff.norm", x)))
        x = x + _linear(s, f"{at}.ff.fn.net.3", y)
    x = x.unflatten(1, (12, -1))[:, :, 1:-1].flatten(1, 2)
    return x, _norm(s, "encoder.norm", x.mean(1))


def _s4_kernel(s: State, at: str, length: int) -> torch.Tensor:
    """Taps (512, length) of the state space, by the Cauchy sums over 601 frequencies."""
    step = torch.exp(s[f"{at}.log_dt"])[:, None]
    w, b, p, q, c, omega, z = (
        torch.view_as_complex(s[f"{at}.{name}"].contiguous()).squeeze(0)
        for name in ["w", "B", "P", "Q", "C", "omega", "z"]
    )
    pole = (w * step)[..., None]

    def cauchy(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        v = (left * right)[..., None]
        return step * (v / (z - pole) + v.conj() / (z - pole.conj())).sum(1)

    k = cauchy(b, c) - cauchy(b, q) * cauchy(p, c) / (1 + cauchy(p, q))
    return torch.fft.irfft(k * 2 / (1 + omega), n=1200)[:, :length]


def cpc(s: State, x: torch.Tensor) -> Features:
    """The four kernels are built at every call."""
    for layer in range(4):
        stride, padding = (2, 1) if layer == 0 else (1, 0)
        x = F.conv1d(x, s[f"encoder.{layer}.0.weight"], stride=stride, padding=padding)
        x = torch.relu(_batch_norm(s, f"encoder.{layer}.1", x))
    for layer in range(4):
        at, length = f"predictor.s4_layers.{layer}", x.shape[-1]
        kernel = _s4_kernel(s, f"{at}.kernel.kernel", length)
        spectrum = torch.fft.rfft(x, n=2 * length) * torch.fft.rfft(kernel, n=2 * length)
        y = torch.fft.irfft(spectrum, n=2 * length)[..., :length] + x * s[f"{at}.D"][0][:, None]
        y = s[f"{at}.output_linear.0.weight"] @ _gelu(y) + s[f"{at}.output_linear.0.bias"]
        y = y[:, :512] * torch.sigmoid(y[:, 512:])
        x = _norm(s, f"predictor.norms.{layer}", (y + x).transpose(1, 2)).transpose(1, 2)
    return x.transpose(1, 2), x.mean(-1)


def _speech_position(s: State, name: str, x: torch.Tensor) -> torch.Tensor:
    gain, direction = (s[f"{name}.parametrizations.weight.original{each}"] for each in (0, 1))
    weight = gain * direction / torch.linalg.vector_norm(direction, dim=(0, 1), keepdim=True)
    y = F.conv1d(x.transpose(1, 2), weight, s[f"{name}.bias"], padding=64, groups=16)
    return x + _gelu(y[..., :-1]).transpose(1, 2)


def _speech_attention(s: State, at: str, x: torch.Tensor) -> torch.Tensor:
    q, k, v = (_linear(s, f"{at}.{each}_proj", x) for each in "qkv")
    return _linear(s, f"{at}.out_proj", _attend(q, k, v, 12))


def hubert_preprocessed(x: torch.Tensor) -> torch.Tensor:
    from scipy.signal import filtfilt, firwin

    taps = firwin(31, [0.05 / 50, 47 / 50], pass_zero=False)
    y = torch.from_numpy(filtfilt(taps, [1], x.double().numpy(), axis=-1).copy())
    low, high = y.amin(-1, keepdim=True), y.amax(-1, keepdim=True)
    return (2 * (y - low) / (high - low + 1e-8) - 1).float()


def hubert_ecg(s: State, x: torch.Tensor) -> Features:
    x = hubert_preprocessed(x).reshape(len(x), 1, -1)
    for layer, stride in enumerate((4, 2, 2, 2, 2)):
        at = f"feature_extractor.conv_layers.{layer}"
        x = F.conv1d(x, s[f"{at}.conv.weight"], stride=stride)
        x = _gelu(_group_norm(s, f"{at}.layer_norm", x, 512) if layer == 0 else x)
    x = _norm(s, "feature_projection.layer_norm", x.transpose(1, 2))
    x = _speech_position(s, "encoder.pos_conv_embed.conv", _linear(s, "feature_projection.projection", x))
    x = _norm(s, "encoder.layer_norm", x)
    for layer in range(12):
        at = f"encoder.layers.{layer}"
        x = _norm(s, f"{at}.layer_norm", x + _speech_attention(s, f"{at}.attention", x))
        y = _linear(
            s,
            f"{at}.feed_forward.output_dense",
            _gelu(_linear(s, f"{at}.feed_forward.intermediate_dense", x)),
        )
        x = _norm(s, f"{at}.final_layer_norm", x + y)
    return x, x.mean(1)


def ecg_fm(s: State, x: torch.Tensor, *, groups: int = 256, norm_first: bool = False) -> Features:
    for layer in range(4):
        at = f"feature_extractor.conv_layers.{layer}"
        x = F.conv1d(x, s[f"{at}.0.weight"], stride=2)
        x = _gelu(_group_norm(s, f"{at}.2", x, groups) if layer == 0 else x)
    x = _linear(s, "post_extract_proj", _norm(s, "layer_norm", x.transpose(1, 2)))
    x = _speech_position(s, "conv_pos.pos_conv.0", x)
    if not norm_first:
        x = _norm(s, "encoder.layer_norm", x)
    for layer in range(12):
        at = f"encoder.layers.{layer}"
        if norm_first:
            x = x + _speech_attention(s, f"{at}.self_attn", _norm(s, f"{at}.self_attn_layer_norm", x))
            y = _gelu(_linear(s, f"{at}.fc1", _norm(s, f"{at}.final_layer_norm", x)))
            x = x + _linear(s, f"{at}.fc2", y)
        else:
            x = _norm(s, f"{at}.self_attn_layer_norm", x + _speech_attention(s, f"{at}.self_attn", x))
            y = _linear(s, f"{at}.fc2", _gelu(_linear(s, f"{at}.fc1", x)))
            x = _norm(s, f"{at}.final_layer_norm", x + y)
    if norm_first:
        x = _norm(s, "encoder.layer_norm", x)
    return x, x.mean(1)


def ecg_fm_seed(s: State, x: torch.Tensor) -> Features:
    return ecg_fm(s, x, groups=1, norm_first=True)


FORMS: dict[str, Callable[[State, torch.Tensor], Features]] = {
    form.__name__: form
    for form in (
        cpc,
        ecg_fm,
        ecg_fm_seed,
        ecg_founder,
        ecg_jepa,
        ecgfm_ked,
        hubert_ecg,
        merl,
        st_mem,
    )
}
