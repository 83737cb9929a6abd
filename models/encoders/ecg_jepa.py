"""ECG-JEPA's context encoder: a vision transformer over eight leads whose attention is a cross (Kim 2024, arXiv
2410.08559)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from models.encoders.contract import Encoder
from models.encoders.sincos import sincos

LEADS, PATCHES, SAMPLES = 8, 50, 50
WIDTH, HEADS, HIDDEN, BLOCKS = 768, 16, 3072, 12
AT_ONCE = 2
"""Windows a step on a CPU: what they need between two layers stays in its caches, and their rows fill a product."""


def cross_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of each token to those of its lead and those of its patch index, itself once.

    ``q``, ``k``, ``v`` and the result: (..., leads, patches, D); scores are divided by the root of D. It equals dense
    attention over all leads × patches tokens under the mask "same lead or same patch index", of which it computes
    the patches + leads scores a token that the mask lets through: two small products, one softmax over both.
    """
    leads, patches = q.shape[-3:-1]
    q = q * q.shape[-1] ** -0.5
    along = q @ k.transpose(-1, -2)  # (..., leads, patches, patches)
    across = q.transpose(-3, -2) @ k.transpose(-3, -2).transpose(-1, -2)  # (..., patches, leads, leads)
    itself = torch.eye(leads, dtype=torch.bool, device=q.device)  # counted in along
    across = across.masked_fill(itself, -math.inf).transpose(-3, -2)  # (..., leads, patches, leads)
    along, across = torch.cat((along, across), -1).softmax(-1).split((patches, leads), -1)
    return along @ v + (across.transpose(-3, -2) @ v.transpose(-3, -2)).transpose(-3, -2)


def _in_steps(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """A function of single windows, of `AT_ONCE` at a time on a CPU."""
    if x.device.type != "cpu" or len(x) <= AT_ONCE:
        return function(x)
    return torch.cat([function(part) for part in x.split(AT_ONCE)])


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.proj(_in_steps(self._attend, self.qkv(x)))

    def _attend(self, qkv: torch.Tensor) -> torch.Tensor:
        """(B, leads × patches, 3 × heads × D) → (B, leads × patches, heads × D)."""
        parted = qkv.unflatten(-1, (3, HEADS, -1)).unflatten(1, (LEADS, PATCHES))
        q, k, v = parted.permute(3, 0, 4, 1, 2, 5).contiguous()
        return cross_attention(q, k, v).permute(0, 2, 3, 1, 4).flatten(3).flatten(1, 2)


class _Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return _in_steps(lambda part: self.fc2(functional.gelu(self.fc1(part))), x)


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attn = _Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = _Mlp()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class _Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(_Block() for _ in range(BLOCKS))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x + position)  # before each block; the sum stays in the residual stream
        return x


def _positions() -> torch.Tensor:
    """float32 (leads × patches, WIDTH): the first half encodes the patch index, the second the lead's."""
    half = WIDTH // 2
    patch = sincos(PATCHES, half).expand(LEADS, -1, -1)
    lead = sincos(LEADS, half)[:, None].expand(-1, PATCHES, -1)
    return torch.cat((patch, lead), -1).flatten(0, 1).float()


class _VisionTransformer(nn.Module):
    """(B, 8, 2500) → (B, 400, WIDTH); token = lead × 50 + patch."""

    def __init__(self) -> None:
        super().__init__()
        self.pos_embed = nn.Parameter(_positions(), requires_grad=False)
        self.W_P = nn.Linear(SAMPLES, WIDTH)
        self.encoder_blocks = _Blocks()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tokens = self.W_P(x.unflatten(-1, (PATCHES, SAMPLES)).flatten(1, 2))
        return self.norm(self.encoder_blocks(tokens, self.pos_embed))


class EcgJepa(Encoder):
    """10 s of eight leads at 250 Hz → 400 tokens of 768 (50 a lead, a lead after the other); pooled is their mean.

    Nothing is masked out: all patches are seen. The values go in as they are. The groups are the benchmark's, in which
    the fixed positions are early.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 10.0, 250, 2500, WIDTH
    leads = ("I", "II", "V1", "V2", "V3", "V4", "V5", "V6")
    early = ("pos_embed", "W_P.", *(f"encoder_blocks.blocks.{place}." for place in range(3)))

    def __init__(self) -> None:
        super().__init__()
        self.net = _VisionTransformer()

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)
