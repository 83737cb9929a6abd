"""ST-MEM: a vision transformer over the patches of all leads, with separators around each lead (Na et al. 2024, arXiv
2402.09450)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from models.encoders.contract import Encoder
from models.encoders.sincos import sincos

LEADS, PATCH, PATCHES = 12, 75, 30
WIDTH, HEADS, BLOCKS = 768, 12, 12
DECODER_WIDTH, DECODER_HEADS, DECODER_BLOCKS = 256, 4, 4
HEAD_WIDTH, HIDDEN = 64, 4
"""Of a head in both halves; how many times the width an MLP's hidden layer has."""


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(width, 3 * heads * HEAD_WIDTH)
        self.to_out = nn.Sequential(nn.Linear(heads * HEAD_WIDTH, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.to_qkv(x).unflatten(-1, (3, self.heads, HEAD_WIDTH)).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v)
        return self.to_out(y.transpose(1, 2).flatten(2))


class _FeedForward(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = HIDDEN * width
        self.net = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Identity(), nn.Linear(hidden, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class _PreNorm(nn.Module):
    def __init__(self, width: int, fn: nn.Module) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fn = fn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fn(self.norm(x))


class _Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attn = _PreNorm(width, _Attention(width, heads))
        self.ff = _PreNorm(width, _FeedForward(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(x)
        return x + self.ff(x)


class _Patches(nn.Module):
    """(..., n × PATCH) → (..., n, PATCH)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (-1, PATCH))


def _positions(width: int) -> nn.Parameter:
    """(1, PATCHES + 2, width), fixed: rows of zeros for the two separators around those of the patches."""
    table = functional.pad(sincos(PATCHES, width), (0, 0, 1, 1))
    return nn.Parameter(table[None].float(), requires_grad=False)


def _token(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(*shape).normal_(std=0.02))


class _Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.to_patch_embedding = nn.Sequential(
            _Patches(), nn.LayerNorm(PATCH), nn.Linear(PATCH, WIDTH), nn.LayerNorm(WIDTH)
        )
        self.pos_embedding = _positions(WIDTH)
        self.sep_embedding = _token(WIDTH)
        self.lead_embeddings = nn.ParameterList(_token(WIDTH) for _ in range(LEADS))
        self.depth = BLOCKS
        for place in range(self.depth):
            self.add_module(f"block{place}", _Block(WIDTH, HEADS))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(B, 12, n × PATCH), n ≤ PATCHES → tokens (B, 12 × n, WIDTH), their normed mean (B, WIDTH)."""
        x = self._separated(self.to_patch_embedding(x))
        tokens = x.flatten(1, 2)
        for place in range(self.depth):
            tokens = self.get_submodule(f"block{place}")(tokens)
        sequence = tokens.unflatten(1, x.shape[1:3])[:, :, 1:-1].flatten(1, 2)
        return sequence, self.norm(sequence.mean(1))

    def _separated(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 12, n, WIDTH) → (B, 12, n + 2, WIDTH), with positions and leads. The right separator's position is the
        table's last row, whatever n is."""
        first, last = self.pos_embedding[0, :1], self.pos_embedding[0, -1:]
        patches = self.pos_embedding[0, 1 : x.shape[2] + 1]
        separators = ((self.sep_embedding + row).expand(*x.shape[:2], -1, -1) for row in (first, last))
        left, right = separators
        leads = torch.stack(tuple(self.lead_embeddings))[:, None]
        return torch.cat((left, x + patches, right), 2) + leads


class _MaskedAutoencoder(nn.Module):
    """The encoder, and a decoder that is here for its place in the checkpoint: no feature goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = _Encoder()
        self.to_patch_embedding = self.encoder.to_patch_embedding  # its keys are twice in the checkpoint
        self.to_decoder_embedding = nn.Linear(WIDTH, DECODER_WIDTH)
        self.mask_embedding = _token(1, 1, DECODER_WIDTH)
        self.decoder_pos_embed = _positions(DECODER_WIDTH)
        self.decoder_blocks = nn.Sequential(
            *(_Block(DECODER_WIDTH, DECODER_HEADS) for _ in range(DECODER_BLOCKS))
        )
        self.decoder_norm = nn.LayerNorm(DECODER_WIDTH, eps=1e-6)
        self.decoder_head = nn.Linear(DECODER_WIDTH, PATCH)


class StMem(Encoder):
    """2.4 s at 250 Hz → 96 tokens of 768 (8 a lead, a lead after the other) that no last norm saw; pooled is the norm
    of their mean.

    The separators take part in the attention and are no tokens of the result. Nothing is masked out, and the values go
    in as they are. The groups are the benchmark's; no feature depends on the decoder.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 2.4, 250, 600, WIDTH
    early = (
        "encoder.pos_embedding",
        "encoder.sep_embedding",
        "encoder.lead_embeddings.",
        "encoder.to_patch_embedding.",
        *(f"encoder.block{place}." for place in range(3)),
    )
    late = ("encoder.",)
    unused = ("to_decoder_embedding.", "mask_embedding", "decoder_")

    def __init__(self) -> None:
        super().__init__()
        self.net = _MaskedAutoencoder()

    def encode(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.net.encoder(x)
