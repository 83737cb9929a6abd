"""What a training depends on, apart from labels and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from warehouse.errors import UsageError

AMP = ("auto", "off", "bf16", "fp16")
BALANCE = {"none": 0.0, "root": 0.5, "weights": 1.0, "resample": 0.0}
"""How the classes are balanced → the power of the weights."""
AUGMENT = ("none", "beats")
FREEZE = ("none", "conv")
POOLS = ("valid", "same")


@dataclass(frozen=True)
class Settings:
    """The defaults are the published ones of the image baseline (`baselines` of ``lydus-ecg-image``); `of` has ours
    for the other models.

    ``weights``: ``imagenet``, ``none`` or a file. ``input_scale``: of the image's width and height. ``lr`` falls
    along a cosine to 0 over all steps, after ``warmup`` epochs in which it rises. ``amp``: arithmetic in half
    precision; ``auto`` is on where there is a GPU.

    ``balance``: ``weights`` weighs a class's positives by negatives / positives of the train part (the classes of a
    multiclass task by all / their number), ``root`` by the root of that; ``resample`` draws as many instances of each
    class for every epoch. ``augment``: `pipelines.train.augment`. ``smoothing``: of the labels of a multiclass task.
    ``average``: of the weights, the share that each step keeps; 0 is off. ``choose``: the metrics, joined by ``+``,
    by whose mean on validation epoch and thresholds are chosen; the task's primary one where empty. ``patience``:
    epochs without a better one after which the training ends; 0 is off.

    ``dense_layers`` and ``pool`` are readings of the paper's network (`models.heartbeat.KachueeNet`). ``init_from``:
    a trained model, whose convolutions are taken; with ``freeze`` ``conv`` they stay as they are. Raises UsageError
    for a value that no training can have.
    """

    model: str = "resnet18"
    weights: str = "imagenet"
    input_scale: float = 0.5
    epochs: int = 12
    batch: int = 32
    lr: float = 3e-4
    weight_decay: float = 0.01
    amp: str = "auto"
    balance: str = "none"
    seed: int = 0
    augment: str = "none"
    smoothing: float = 0.0
    average: float = 0.0
    warmup: float = 0.0
    choose: str = ""
    patience: int = 0
    dense_layers: int = 2
    pool: str = "valid"
    init_from: str = ""
    freeze: str = "none"

    @classmethod
    def of(cls, model: str) -> Settings:
        """A model's defaults. UsageError for one that is not there."""
        return cls(model=model, **DEFAULTS.get(model, {}))

    def __post_init__(self) -> None:
        from models import INPUTS

        for name, known in (
            ("model", INPUTS),
            ("amp", AMP),
            ("balance", BALANCE),
            ("augment", AUGMENT),
            ("freeze", FREEZE),
            ("pool", POOLS),
        ):
            if getattr(self, name) not in known:
                raise UsageError(f"found {name} {getattr(self, name)!r}; expected one of: {', '.join(known)}")
        for name, least, most in (
            ("input_scale", 1 / 32, 1),
            ("epochs", 1, 10_000),
            ("batch", 1, 65_536),
            ("lr", 1e-9, 10),
            ("weight_decay", 0, 10),
            ("seed", 0, 2**63 - 1),
            ("smoothing", 0, 0.5),
            ("average", 0, 0.99999),
            ("warmup", 0, 1000),
            ("patience", 0, 10_000),
            ("dense_layers", 0, 8),
        ):
            if not least <= getattr(self, name) <= most:
                raise UsageError(f"found {name} {getattr(self, name)}; expected {least:g} to {most:g}")
        if self.weights not in ("imagenet", "none") and not Path(self.weights).is_file():
            raise UsageError(
                f"--weights {self.weights}: found no such file; expected imagenet, none or a file of weights",
                "pass the path of a state dict of torchvision's ResNet-18, or of a model.pt of ours",
            )
        images = INPUTS[self.model] == "images"
        if not images and self.weights != "none":
            raise UsageError(
                f"--weights {self.weights}: found weights for model {self.model}, which begins with random ones",
                "pass --init-from RUN to take a trained model's convolutions",
            )
        if images and (self.init_from or self.freeze != "none" or self.augment != "none"):
            raise UsageError(
                f"found --init-from, --freeze or --augment for model {self.model}; expected a model of signals"
            )
        if self.freeze != "none" and not self.init_from:
            raise UsageError(
                "found --freeze without --init-from; expected a model whose convolutions are kept"
            )

    def model_options(self) -> dict[str, int | str]:
        """The arguments of the model itself."""
        if self.model == "kachuee":
            return {"dense_layers": self.dense_layers, "pool": self.pool}
        return {}

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def apart_from_published(self) -> list[str]:
        """What differs from the published setting, in words; nothing where none is published."""
        if self.model != PUBLISHED.model:
            return []
        return [f"{name} {found} (published {known})" for name, found, known in differences(self, PUBLISHED)]

    def with_known(self, **values: Any) -> Settings:
        """The settings with the values that are not None."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})


def differences(one: Settings, other: Settings) -> Iterator[tuple[str, Any, Any]]:
    for field in fields(Settings):
        found, known = getattr(one, field.name), getattr(other, field.name)
        if found != known:
            yield field.name, found, known


PUBLISHED = Settings()

_SIGNAL = {
    "weights": "none",
    "batch": 256,
    "lr": 3e-3,
    "weight_decay": 0.02,
    "warmup": 1.0,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "kachuee": _SIGNAL | {"epochs": 20, "lr": 1e-3, "choose": "macro_f1+macro_recall"},
    "beatnet": _SIGNAL
    | {"epochs": 20, "augment": "beats", "average": 0.995, "choose": "macro_f1+macro_recall"},
    "rhythmnet": _SIGNAL | {"epochs": 12, "batch": 64, "lr": 1e-3, "patience": 4},
}
"""Ours; the heartbeat paper states no batch, no number of epochs and no weight decay."""


def model_for(spec: Mapping[str, Any]) -> str:
    """The model that a task is trained with where none is named, by what its instances are."""
    if "image" in spec.get("input", {}):
        return "resnet18"
    return "beatnet" if "samples" in spec.get("segments", {}) else "rhythmnet"
