"""HuBERT-ECG, base: HuBERT on twelve leads laid end to end (Coppola et al. 2024, medRxiv 2024.11.14.24317328; HuBERT:
Hsu et al. 2021, arXiv 2106.07447)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from models.encoders.card import EncoderError
from models.encoders.contract import Encoder
from models.encoders.fairseq import ABSENT, agrees, look, said
from models.encoders.parts import PositionalConv, SelfAttention

RATE = 100
BAND = (0.05, 47.0)
"""Hz, of the band-pass before the encoder."""
TAPS = 31
"""Of its filter: 0.3 s of samples, made odd."""

WIDTH, HIDDEN, LAYERS, HEADS, CHANNELS = 768, 3072, 12, 12, 512
KERNELS, STRIDES = (10, 3, 3, 2, 2), (4, 2, 2, 2, 2)

HELD = {
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "hidden_act": "gelu",
    "do_stable_layer_norm": False,
    "layer_norm_eps": 1e-5,
    "feat_extract_norm": "group",
    "feat_extract_activation": "gelu",
    "feat_proj_layer_norm": True,
    "conv_dim": (CHANNELS,) * len(KERNELS),
    "conv_kernel": KERNELS,
    "conv_stride": STRIDES,
    "conv_bias": False,
    "num_conv_pos_embeddings": 128,
    "num_conv_pos_embedding_groups": 16,
    "conv_pos_batch_norm": False,
}
"""What a checkpoint's configuration (transformers' ``HubertConfig``) must say where it says it."""


def preprocess(x: torch.Tensor) -> torch.Tensor:
    """(B, leads, T) at 100 Hz → float32 of the same shape within [-1, 1]: band-passed, then scaled lead by lead.

    A Hamming-windowed filter of 31 taps, 0.05 to 47 Hz, runs forwards and backwards over ends that are continued by
    their point reflection; then the window's minimum and maximum of a lead become -1 and 1. A constant lead becomes
    -1. In double precision on the CPU, as the benchmark's adapter does it (biosppy's FIR filter). EncoderError for
    an input that wants its gradient and for no more than 93 samples, which the ends need.
    """
    from scipy.signal import filtfilt, firwin

    if x.requires_grad:
        raise EncoderError(
            "found an input that wants its gradient; HuBERT-ECG's band-pass and scaling give none to it"
        )
    if x.shape[-1] <= 3 * TAPS:
        raise EncoderError(f"found {x.shape[-1]} samples; the band-pass needs more than {3 * TAPS}")
    taps = firwin(TAPS, BAND, pass_zero=False, window="hamming", fs=RATE)
    passed = torch.from_numpy(filtfilt(taps, [1.0], x.cpu().double().numpy(), axis=-1).copy())
    low, high = passed.amin(-1, keepdim=True), passed.amax(-1, keepdim=True)
    return (2 * (passed - low) / (high - low + 1e-8) - 1).to(x.device, torch.float32)


class _Convolution(nn.Module):
    """A convolution without a pad, the first with a norm of each channel over time, then exact GELU."""

    def __init__(self, inputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, CHANNELS, kernel, stride, bias=False)
        self.layer_norm = nn.GroupNorm(CHANNELS, CHANNELS) if inputs == 1 else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        return functional.gelu(x if self.layer_norm is None else self.layer_norm(x))


class _FeatureExtractor(nn.Module):
    """(B, 1, 6000) → (B, 512, 93)."""

    def __init__(self) -> None:
        super().__init__()
        inputs = (1, *(CHANNELS,) * (len(KERNELS) - 1))
        self.conv_layers = nn.ModuleList(map(_Convolution, inputs, KERNELS, STRIDES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.conv_layers:
            x = layer(x)
        return x


class _FeatureProjection(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer_norm = nn.LayerNorm(CHANNELS)
        self.projection = nn.Linear(CHANNELS, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.projection(self.layer_norm(x))


class _FeedForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.intermediate_dense = nn.Linear(WIDTH, HIDDEN)
        self.output_dense = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output_dense(functional.gelu(self.intermediate_dense(x)))


class _Layer(nn.Module):
    """Normed after each sum."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = SelfAttention(WIDTH, HEADS)
        self.layer_norm = nn.LayerNorm(WIDTH)
        self.feed_forward = _FeedForward()
        self.final_layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer_norm(x + self.attention(x))
        return self.final_layer_norm(x + self.feed_forward(x))


class _Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pos_conv_embed = nn.Sequential(OrderedDict(conv=PositionalConv(WIDTH, kernel=128, groups=16)))
        self.layer_norm = nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(_Layer() for _ in range(LAYERS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer_norm(x + self.pos_conv_embed(x))
        for layer in self.layers:
            x = layer(x)
        return x


class _Hubert(nn.Module):
    """(B, samples) → (B, T, 768)."""

    def __init__(self) -> None:
        super().__init__()
        self.feature_extractor = _FeatureExtractor()
        self.feature_projection = _FeatureProjection()
        self.encoder = _Transformer()
        # of the pre-training task; no feature goes through them
        self.masked_spec_embed = nn.Parameter(torch.rand(WIDTH))
        self.final_proj = nn.ModuleList([nn.Linear(WIDTH, 256)])
        self.label_embedding = nn.ModuleList([nn.Embedding(500, 256)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(self.feature_projection(self.feature_extractor(x[:, None]).transpose(1, 2)))


class HubertEcg(Encoder):
    """5 s at 100 Hz → 93 tokens of 768; pooled is their mean. A window is put through `preprocess` first.

    The leads follow one another in time, so that a token belongs to one lead or to the seam of two. In train mode no
    frame is masked and no layer is skipped. The groups are the benchmark's; the heads of the pre-training task, on
    which no feature depends, are early there.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 5.0, RATE, 500, WIDTH
    early = ("",)
    late = tuple(f"encoder.layers.{place}." for place in range(LAYERS // 2, LAYERS))

    def __init__(self) -> None:
        super().__init__()
        self.net = _Hubert()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(preprocess(x).to(x.dtype).flatten(1))

    def configure_from(self, config: Any) -> list[str]:
        """Holds the sizes and the places of the norms in the file's ``model_config`` against this net's.

        EncoderError where one differs: some would load whole and give other features. Names that it lacks are not
        asked for; nothing is where a file has no configuration (``config`` None).
        """
        if config is None:
            return []
        found = {name: look(config, name) for name in HELD}
        found = {name: each for name, each in found.items() if each is not ABSENT}
        if other := [
            f"{name} {said(each)}, not {HELD[name]!r}"
            for name, each in found.items()
            if not agrees(each, HELD[name])
        ]:
            raise EncoderError(
                f"{self.name}: found another net in the checkpoint's configuration: {'; '.join(other)}"
            )
        return [
            f"{len(found)} of {len(HELD)} points of the net are in the checkpoint's configuration and agree"
        ]
