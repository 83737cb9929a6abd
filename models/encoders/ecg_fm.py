"""ECG-FM: wav2vec 2.0 for twelve leads (McKeen et al. 2024, arXiv 2408.05178), in the two forms that are in use.

Both have the same keys and shapes, so a checkpoint loads whole in either; only one gives its features. Which one is
decided by the checkpoint's own configuration (`EcgFm.configure_from`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from models.encoders import fairseq
from models.encoders.card import EncoderError
from models.encoders.contract import Encoder
from models.encoders.parts import PositionalConv, SelfAttention

LAYERS, WIDTH, HIDDEN, HEADS = 12, 768, 3072, 12
CONV_LAYERS = [(256, 2, 2)] * 4
"""(outputs, kernel, stride) of the feature extractor."""

HELD = {
    "encoder_layers": LAYERS,
    "encoder_embed_dim": WIDTH,
    "encoder_ffn_embed_dim": HIDDEN,
    "encoder_attention_heads": HEADS,
    "in_d": 12,
    "conv_bias": False,
    "conv_pos": 128,
    "conv_pos_groups": 16,
    "activation_fn": "gelu",
}
"""What a configuration must say where it says it: none of these can be changed here."""


class _FeatureExtractor(nn.Module):
    """(B, 12, T) → (B, 256, T / 16, rounded down four times)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.conv_layers = nn.ModuleList()
        inputs = 12
        for place, (outputs, kernel, stride) in enumerate(CONV_LAYERS):
            parts = [nn.Conv1d(inputs, outputs, kernel, stride, bias=False), nn.Identity()]
            if place == 0:
                parts.append(nn.GroupNorm(groups, outputs))
            self.conv_layers.append(nn.Sequential(*parts, nn.GELU()))
            inputs = outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.conv_layers:
            x = layer(x)
        return x


class _PositionalConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pos_conv = nn.Sequential(PositionalConv(WIDTH, kernel=128, groups=16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pos_conv(x)


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attn = SelfAttention(WIDTH, HEADS)
        self.self_attn_layer_norm = nn.LayerNorm(WIDTH)
        self.fc1 = nn.Linear(WIDTH, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, WIDTH)
        self.final_layer_norm = nn.LayerNorm(WIDTH)
        self.activation_dropout = nn.Dropout(0.1)

    def _feed(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.activation_dropout(functional.gelu(self.fc1(x))))

    def forward(self, x: torch.Tensor, *, norm_first: bool) -> torch.Tensor:
        if norm_first:
            x = x + self.self_attn(self.self_attn_layer_norm(x))
            return x + self._feed(self.final_layer_norm(x))
        x = self.self_attn_layer_norm(x + self.self_attn(x))
        return self.final_layer_norm(x + self._feed(x))


class _Transformer(nn.Module):
    """``norm_first``: every layer norms its inputs and ``layer_norm`` comes last; without, it comes first and every
    layer norms its sums."""

    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.layers = nn.ModuleList(_Layer() for _ in range(LAYERS))
        self.layer_norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.norm_first:
            x = self.layer_norm(x)
        for layer in self.layers:
            x = layer(x, norm_first=self.norm_first)
        return self.layer_norm(x) if self.norm_first else x


class _EcgFm(nn.Module):
    def __init__(self, groups: int, norm_first: bool) -> None:
        super().__init__()
        self.feature_extractor = _FeatureExtractor(groups)
        self.post_extract_proj = nn.Linear(CONV_LAYERS[-1][0], WIDTH)
        self.conv_pos = _PositionalConvolution()
        self.layer_norm = nn.LayerNorm(CONV_LAYERS[-1][0])
        self.encoder = _Transformer(norm_first)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.post_extract_proj(self.layer_norm(self.feature_extractor(x).transpose(1, 2)))
        return self.encoder(x + self.conv_pos(x))


class EcgFm(Encoder):
    """5 s at 500 Hz → 156 tokens of 768; pooled is their mean. The values go in as they are.

    ``layer_norm_first`` and ``groups`` of the first layer's norm: False and 256, one a channel, are upstream's
    (fairseq-signals'); True and 1 are those of the benchmark's adapter. ``decided_by_checkpoint``: the configuration
    in a checkpoint may change the former, and one that asks for something else is refused; without, the form stays.

    The groups are the benchmark's. The paper's own repository has ``encoder.layer_norm`` among the early ones.
    """

    chunk_seconds, model_fs, model_seq_len, feature_dim = 5.0, 500, 2500, WIDTH
    early = (
        "feature_extractor.",
        "layer_norm.",
        "post_extract_proj.",
        "conv_pos.",
        *(f"encoder.layers.{place}." for place in range(LAYERS // 2)),
    )

    def __init__(
        self, *, layer_norm_first: bool = False, groups: int = 256, decided_by_checkpoint: bool = True
    ) -> None:
        super().__init__()
        self.norm_first, self.decided_by_checkpoint = layer_norm_first, decided_by_checkpoint
        self.net = _EcgFm(groups, layer_norm_first)

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def configure_from(self, config: Any) -> list[str]:
        """Where the norms are, as fairseq's ``cfg.model`` (or the old ``args``) says it; a line on what was decided.

        EncoderError for a configuration of another net: sizes, ``extractor_mode`` or a ``layer_norm_first`` that is
        no boolean. Names that it lacks are taken as this form has them, and so are all where a file has no
        configuration (``config`` None), whatever another file has said before.
        """
        model = fairseq.model_section(config)
        if not self.decided_by_checkpoint:
            return self._keep_form(model)
        _hold_sizes(model)
        mode = fairseq.look(model, "extractor_mode")
        if mode is not fairseq.ABSENT and not fairseq.agrees(mode, "default"):
            raise EncoderError(
                f"{self.name}: found extractor_mode {fairseq.said(mode)} in the checkpoint's configuration; "
                "expected 'default', a group norm a channel after the first convolution"
            )
        first = fairseq.look(model, "layer_norm_first")
        if first is fairseq.ABSENT:
            self.net.encoder.norm_first = self.norm_first
            why = "the checkpoint's configuration does not name layer_norm_first"
            if config is None:
                why = "the file has no configuration"
            return [f"{why}: the norms stay {_place(self.norm_first)}"]
        if not isinstance(first, bool):
            raise EncoderError(
                f"{self.name}: found layer_norm_first {fairseq.said(first)} in the checkpoint's configuration; "
                "expected a boolean"
            )
        self.net.encoder.norm_first = first
        return [f"layer_norm_first {first} in the checkpoint's configuration: norms {_place(first)}"]

    def _keep_form(self, model: Any) -> list[str]:
        groups = self.net.feature_extractor.conv_layers[0][2].num_groups
        form = f"norms {_place(self.net.encoder.norm_first)}, {groups} group(s) in the extractor's norm"
        said = {
            name: found
            for name in ("layer_norm_first", "extractor_mode")
            if (found := fairseq.look(model, name)) is not fairseq.ABSENT
        }
        own = {
            "layer_norm_first": self.net.encoder.norm_first,
            "extractor_mode": "default" if groups > 1 else None,
        }
        if other := [
            f"{name} {fairseq.said(found)}"
            for name, found in said.items()
            if not fairseq.agrees(found, own[name])
        ]:
            return [
                f"the checkpoint's configuration says otherwise ({', '.join(other)}): {self.name} keeps {form}, and "
                "its features are not those that were pre-trained"
            ]
        return [f"{self.name} keeps its form whatever the checkpoint was trained in: {form}"]


def _place(norm_first: bool) -> str:
    return "before each block and at the end" if norm_first else "at the beginning and after each block"


def _hold_sizes(model: Any) -> None:
    for name, expected in HELD.items():
        found = fairseq.look(model, name)
        if found is not fairseq.ABSENT and not fairseq.agrees(found, expected):
            raise EncoderError(
                f"found {name} {fairseq.said(found)} in the checkpoint's configuration; expected {expected!r}, as this "
                "net has it"
            )
    layers = fairseq.look(model, "conv_feature_layers")
    if layers is not fairseq.ABSENT and (found := fairseq.conv_layers(layers)) != CONV_LAYERS:
        raise EncoderError(
            f"found conv_feature_layers {fairseq.said(found)} in the checkpoint's configuration; expected {CONV_LAYERS}"
        )
