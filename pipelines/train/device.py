"""Torch, the device it works on and the precision there."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from warehouse.errors import UsageError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda", "mps")


def need_torch() -> None:
    """UsageError where the ``train`` extra is not installed."""
    missing = [name for name in ("torch", "torchvision") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"found no {' and no '.join(missing)}; expected what the extra `train` installs",
            "pip install -c constraints.txt -e '.[train]' (labels, rendering and scores do without)",
        )


def find_device(name: str = "auto") -> torch.device:
    """``auto`` is a CUDA GPU, else an Apple GPU, else the CPU. UsageError for one that is not there."""
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, found in there.items() if found)
    if name not in there or not there[name]:
        known = ", ".join(["auto", *(device for device, found in there.items() if found)])
        raise UsageError(f"--device {name}: found no such device here; expected one of: {known}")
    return torch.device(name)


def precision(amp: str, device: torch.device) -> torch.dtype | None:
    """The half precision that ``amp`` means on a device; None for none."""
    import torch

    if amp == "auto":
        if device.type != "cuda":
            return None
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}[amp]


def slow_half(device: torch.device, dtype: torch.dtype | None) -> str | None:
    """What to tell of a CPU that computes no bfloat16 itself and imitates it; None where there is nothing to tell."""
    import torch

    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: True)
    if device.type != "cpu" or dtype != torch.bfloat16 or supported():
        return None
    return (
        "note: this CPU has no bfloat16 arithmetic (avx512_bf16, AMX): with --amp bf16 a step takes up to 24 times "
        "as long as without"
    )


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager:
    import torch

    return torch.autocast(device.type, dtype or torch.bfloat16, enabled=dtype is not None)


def described(device: torch.device, dtype: torch.dtype | None) -> dict[str, str | int | None]:
    """Device, precision and threads, as a record keeps them."""
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "device": name,
        "amp": None if dtype is None else str(dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
    }
