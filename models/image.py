"""ResNet-18 of torchvision for grey images: one channel in, one output a class."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from torch import nn
from torchvision.models import ResNet18_Weights, resnet18

from models import WeightsError

IMAGENET = ResNet18_Weights.IMAGENET1K_V1
MEAN, SD = 0.449, 0.226
"""Of ImageNet's grey values from 0 to 1: the mean of the three channels' published ones."""


class PageNet(nn.Module):
    """uint8 or float grey values 0 to 255, (n, h, w) → logits (n, outputs).

    ``mean`` and ``sd`` of the values from 0 to 1 are part of the weights: a file of weights is all that a
    prediction needs. The first convolution has one channel, the sum of the three of a colour network: on a grey
    image, where they are alike, both give the same.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN))
        self.register_buffer("sd", torch.tensor(SD))
        self.net = resnet18(num_classes=outputs)
        first = self.net.conv1
        self.net.conv1 = nn.Conv2d(
            1, first.out_channels, first.kernel_size, first.stride, first.padding, bias=False
        )
        nn.init.kaiming_normal_(self.net.conv1.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        values = (pixels.unsqueeze(1).float() / 255 - self.mean) / self.sd
        return self.net(values.contiguous(memory_format=torch.channels_last))

    def normalise(self, mean: float, sd: float) -> None:
        """Take mean and standard deviation of the pixels (0 to 1) instead of ImageNet's."""
        self.mean.fill_(mean)
        self.sd.fill_(max(sd, 1e-3))

    def start_from(self, weights: str) -> dict[str, str | list[str]]:
        """Load ``imagenet`` (fetched once, its hash checked) or a file: a state dict of torchvision's ResNet-18 or
        of this module.

        The last layer is kept where its size fits and is drawn anew where not. Returns what was loaded: ``file``,
        ``sha256``, ``not_loaded`` (names of parameters). Raises WeightsError.
        """
        path = _fetch() if weights == "imagenet" else Path(weights)
        state, sha256 = read_state(path)
        if not all(
            isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in state.items()
        ):
            raise WeightsError(f"{path.name}: found no state dict; expected names and tensors")
        if not any(name.startswith("net.") for name in state):
            state = {f"net.{name}": value for name, value in state.items()}
        first = state.get("net.conv1.weight")
        if first is not None and first.ndim == 4 and first.shape[1] == 3:
            state["net.conv1.weight"] = first.sum(dim=1, keepdim=True)
        own = self.state_dict()
        optional = ("net.fc.weight", "net.fc.bias", "mean", "sd")
        wrong = [
            name
            for name, value in own.items()
            if name not in optional and _shape(state.get(name)) != value.shape
        ]
        if wrong:
            more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            raise WeightsError(
                f"{path.name}: found no fitting {', '.join(wrong[:3])}{more}; expected the weights of a ResNet-18"
            )
        fits = {
            name: value for name, value in state.items() if name in own and value.shape == own[name].shape
        }
        self.load_state_dict(fits, strict=False)
        return {
            "file": path.name,
            "sha256": sha256,
            "not_loaded": sorted(name for name in own if name not in fits and name not in ("mean", "sd")),
        }


def _shape(value: torch.Tensor | None) -> torch.Size | None:
    return None if value is None else value.shape


def read_state(path: Path) -> tuple[dict, str]:
    """A state dict and its file's sha256. No code of a file is ever run. Raises WeightsError."""
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # unpickling a damaged file fails in many ways
        reason = error.strerror if isinstance(error, OSError) and error.strerror else _first_line(error)
        raise WeightsError(f"{path}: cannot be read as weights ({reason})") from error
    if not isinstance(state, dict):
        raise WeightsError(f"{path}: found a {type(state).__name__}; expected a state dict")
    return state, sha256


def _fetch() -> Path:
    """The file of torchvision's ImageNet weights: torch's own cache, else the download, its hash checked either way."""
    path = Path(torch.hub.get_dir()) / "checkpoints" / IMAGENET.url.rpartition("/")[2]
    begins = path.stem.rpartition("-")[2]  # the name ends in the first digits of the file's sha256
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(IMAGENET.url, str(path), begins, progress=False)
        except (OSError, RuntimeError) as error:  # no network, another file than the one that was published
            raise WeightsError(f"the ImageNet weights cannot be fetched ({_first_line(error)})") from error
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if not found.startswith(begins):
        raise WeightsError(
            f"{path}: found sha256 {found[:12]}…; expected one that begins with {begins}: remove it"
        )
    return path


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
