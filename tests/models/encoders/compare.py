"""What a module gives, and how far that is from what was expected."""

from __future__ import annotations

from typing import Any

import torch


def outputs(module: torch.nn.Module, *given: torch.Tensor) -> Any:
    """Without gradients."""
    with torch.no_grad():
        return module(*given)


def deviation(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference, relative to the largest absolute value."""
    return float((found - expected).abs().max() / expected.abs().max())
