"""What a training depends on, apart from labels and inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from warehouse.errors import UsageError

AMP = ("auto", "off", "bf16", "fp16")
BALANCE = ("none", "weights")


@dataclass(frozen=True)
class Settings:
    """The defaults are the published ones of the image baseline (`baselines` of ``lydus-ecg-image``).

    ``weights``: ``imagenet``, ``none`` or a file. ``input_scale``: of the image's width and height. ``lr`` falls
    along a cosine to 0 over all steps. ``amp``: arithmetic in half precision; ``auto`` is on where there is a GPU.
    ``balance``: ``weights`` weighs a class's positives by negatives / positives of the train part. Raises UsageError
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

    def __post_init__(self) -> None:
        from models import INPUTS

        for name, known in (("model", INPUTS), ("amp", AMP), ("balance", BALANCE)):
            if getattr(self, name) not in known:
                raise UsageError(f"found {name} {getattr(self, name)!r}; expected one of: {', '.join(known)}")
        for name, least, most in (
            ("input_scale", 1 / 32, 1),
            ("epochs", 1, 10_000),
            ("batch", 1, 65_536),
            ("lr", 1e-9, 10),
            ("weight_decay", 0, 10),
            ("seed", 0, 2**63 - 1),
        ):
            if not least <= getattr(self, name) <= most:
                raise UsageError(f"found {name} {getattr(self, name)}; expected {least:g} to {most:g}")
        if self.weights not in ("imagenet", "none") and not Path(self.weights).is_file():
            raise UsageError(
                f"--weights {self.weights}: found no such file; expected imagenet, none or a file of weights",
                "pass the path of a state dict of torchvision's ResNet-18, or of a model.pt of ours",
            )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def apart_from_published(self) -> list[str]:
        """What differs from the published setting, in words."""
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
