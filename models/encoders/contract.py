"""What every encoder is: declared input, checked and prepared; declared output, checked; two groups of parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from models.encoders.card import EncoderError
from models.encoders.output import features_of
from models.encoders.prepare import LEADS, Preparation, prepare, samples_needed

DECLARED = ("chunk_seconds", "model_fs", "model_seq_len", "feature_dim")
"""The four attributes of the benchmark's contract."""


class Encoder(nn.Module):
    """Twelve leads in mV → sequence features (B, T, D) and pooled features (B, D), float32.

    A subclass declares its window (``model_seq_len`` is ``chunk_seconds`` × ``model_fs``) and its feature dimension,
    builds ``self.net`` and says in `encode` what to do with a prepared window. ``early``, ``late`` and ``unused`` are
    beginnings of the parameters' names in `state_module`; `layer_groups` reads them. EncoderError where it is made
    without these declarations.
    """

    chunk_seconds: ClassVar[float]
    model_fs: ClassVar[int]
    model_seq_len: ClassVar[int]
    feature_dim: ClassVar[int]
    leads: ClassVar[tuple[str, ...]] = LEADS
    units: ClassVar[str] = "mV"

    early: ClassVar[tuple[str, ...]] = ()
    late: ClassVar[tuple[str, ...]] = ("",)
    unused: ClassVar[tuple[str, ...]] = ()

    net: nn.Module
    name = "encoder"
    frozen = False

    def __init__(self) -> None:
        super().__init__()
        _hold_declared(self, type(self).__name__)
        _hold_class(self, type(self).__name__)
        self.preparation = Preparation()
        self.filled = 0

    @property
    def state_module(self) -> nn.Module:
        """The module whose state dict has the published checkpoint's keys."""
        return self.net

    def configure(self, *, parity: bool = False, resample: str | None = None, nan: str | None = None) -> None:
        """How a window is prepared (see `models.encoders.create`). EncoderError for a setting that is not known."""
        self.preparation = Preparation.of(parity=parity, resample=resample, nan=nan)

    def encode(self, x: torch.Tensor) -> Any:
        """float32 (B, leads, model_seq_len) → one of the four forms of `models.encoders.output`."""
        raise NotImplementedError(f"{type(self).__name__} defines no encode(self, x)")

    def configure_from(self, config: Any) -> list[str]:
        """What the checkpoint's own configuration, None where it has none, decides; returns a line for each decision.
        Most decide nothing.

        EncoderError for a configuration that this encoder does not implement.
        """
        return []

    def forward(
        self, x: torch.Tensor, *, fs: float | None = None, leads: list[str] | tuple[str, ...] | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Features of windows of ``chunk_seconds``.

        ``x``: floating (B, 12, T) in mV, the standard leads in their order, or those that ``leads`` names; ``fs``:
        samples a second, `model_fs` when it is not given. Samples that `nan` filled are counted in ``filled`` (a
        running total). EncoderError for anything that is not such a window.
        """
        if self.frozen and (
            any(each.training for each in self.modules())
            or any(each.requires_grad for each in self.parameters())
        ):
            self.freeze()
        window, filled = prepare(x, self, fs=fs, leads=leads)
        self.filled += filled
        return features_of(self.encode(window), len(window), self.feature_dim)

    def layer_groups(self) -> dict[str, list[nn.Parameter]]:
        """The parameters in ``early`` and ``late`` and, where a checkpoint brings some that no feature depends on,
        ``unused``: each parameter in one group. EncoderError when one is in none or in two."""
        groups: dict[str, list[nn.Parameter]] = {"early": [], "late": [], "unused": []}
        names = [name for name, _ in self.state_module.named_parameters()]
        for begin in (begin for group in groups for begin in getattr(self, group) if begin):
            if not any(name.startswith(begin) for name in names):
                raise EncoderError(
                    f"{self.name}: no parameter's name begins with {begin!r}; found {', '.join(names[:5])} …"
                )
        for name, parameter in self.state_module.named_parameters():
            groups[self._group(name)].append(parameter)
        inside = {id(each) for group in groups.values() for each in group}
        outside = [name for name, each in self.named_parameters() if id(each) not in inside]
        if outside:
            raise EncoderError(
                f"{self.name}: parameters outside state_module, in no group: {', '.join(outside)}"
            )
        return {name: group for name, group in groups.items() if group or name != "unused"}

    def _group(self, name: str) -> str:
        """The longest beginning wins, so that ``late`` may be all that ``early`` does not name."""
        found = [
            (len(begin), group)
            for group in ("early", "late", "unused")
            for begin in getattr(self, group)
            if name.startswith(begin)
        ]
        best = sorted(group for length, group in found if length == max(found)[0])
        if len(best) != 1:
            raise EncoderError(f"{self.name}: the parameter {name} is in {' and '.join(best) or 'no group'}")
        return best[0]

    def freeze(self) -> Encoder:
        """Fixed for good: no gradients, and eval mode whatever `train` says, so that batch norms and dropout stay.

        A call holds that again, should something around the encoder have switched it.
        """
        self.frozen = True
        self.requires_grad_(False)
        return self.eval()

    def train(self, mode: bool = True) -> Encoder:
        super().train(mode and not self.frozen)
        return self


class Adopted(Encoder):
    """A module in the benchmark's own form: the four declared attributes and ``forward(x)`` on (B, 12, T)."""

    def __init__(self, module: nn.Module) -> None:
        _hold_declared(module, type(module).__name__)
        vars(self).update({attribute: getattr(module, attribute) for attribute in DECLARED})
        super().__init__()
        self.net = module

    def encode(self, x: torch.Tensor) -> Any:
        return self.net(x)

    def layer_groups(self) -> dict[str, list[nn.Parameter]]:
        """What the module's ``get_layer_groups`` says; without one, every parameter is late."""
        parameters = list(self.net.parameters())
        if not hasattr(self.net, "get_layer_groups"):
            return {"early": [], "late": parameters}
        returned = self.net.get_layer_groups()
        if not isinstance(returned, dict):
            raise EncoderError(
                f"{type(self.net).__name__}.get_layer_groups: found {type(returned).__name__}; expected a "
                "dictionary with early and late"
            )
        groups = {name: list(group) for name, group in returned.items()}
        given = [id(each) for group in groups.values() for each in group]
        if set(groups) != {"early", "late"} or sorted(given) != sorted(map(id, parameters)):
            raise EncoderError(
                f"{type(self.net).__name__}.get_layer_groups: found {len(given)} parameters in "
                f"{', '.join(groups) or 'no group'}; expected each of {len(parameters)} once, in early or late"
            )
        return groups


def _hold_declared(module: Any, name: str) -> None:
    """EncoderError without the four attributes, and for a window whose samples are not its seconds at its rate."""
    for attribute in DECLARED:
        if not hasattr(module, attribute):
            raise EncoderError(f"{name} declares no {attribute}; expected {', '.join(DECLARED)}")
        value = getattr(module, attribute)
        whole = attribute in ("model_seq_len", "feature_dim")
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)) or not value > 0:
            raise EncoderError(
                f"{name}: found {attribute} {value!r}; expected a positive {'integer' if whole else 'number'}"
            )
    if module.model_seq_len != samples_needed(module.chunk_seconds, module.model_fs):
        raise EncoderError(
            f"{name}: found model_seq_len {module.model_seq_len}; expected chunk_seconds × model_fs, "
            f"{samples_needed(module.chunk_seconds, module.model_fs)}"
        )


def _hold_class(encoder: Any, name: str) -> None:
    """EncoderError for texts in place of tuples, which are read letter by letter, for other leads and units."""
    for attribute in ("early", "late", "unused", "leads"):
        value = getattr(encoder, attribute)
        if not isinstance(value, (tuple, list)) or not all(isinstance(each, str) for each in value):
            raise EncoderError(
                f"{name}: found {attribute} {value!r}; expected a tuple of texts, as in ('stem.',)"
            )
    if strange := [lead for lead in encoder.leads if lead not in LEADS]:
        raise EncoderError(
            f"{name}: found the leads {', '.join(strange)}; expected some of {', '.join(LEADS)}"
        )
    if encoder.units != "mV":
        raise EncoderError(f"{name}: found units {encoder.units!r}; a window comes in mV: scale it in encode")


def declaration(kind: Any) -> dict[str, Any]:
    """What a class of the contract, or of the benchmark's form, declares. EncoderError where it does not."""
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        raise EncoderError(f"found {kind!r}; expected a class of torch modules")
    _hold_declared(kind, kind.__name__)
    if issubclass(kind, Encoder):
        _hold_class(kind, kind.__name__)
    said = {name: getattr(kind, name) for name in DECLARED}
    return said | {"leads": list(getattr(kind, "leads", LEADS))}


def hold_made(encoder: Encoder) -> None:
    """EncoderError for a subclass that has no ``net``, no `encode`, or a ``forward`` of its own, which is the
    contract's."""
    name = type(encoder).__name__
    if type(encoder).forward is not Encoder.forward:
        raise EncoderError(
            f"{name} defines forward; expected encode(self, x), which gets the prepared window"
        )
    if type(encoder).encode is Encoder.encode:
        raise EncoderError(f"{name} defines no encode(self, x); expected one, which returns the features")
    own = type(encoder).state_module is not Encoder.state_module
    if not own and not isinstance(dict(encoder.named_children()).get("net"), nn.Module):
        raise EncoderError(
            f"{name} builds no self.net; expected a torch module, whose parameters are the encoder's"
        )


def adopt(module: nn.Module) -> Encoder:
    """An encoder around a module in the benchmark's form. EncoderError when it declares no window."""
    if not isinstance(module, nn.Module):
        raise EncoderError(f"found {type(module).__name__}; expected a torch module")
    return Adopted(module)
