"""What the modules inside an encoder give, by forward hooks, and the goldens' statistics of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

import torch

from tests.models.encoders import golden


def lengths(encoder: torch.nn.Module, names: Iterable[str]) -> list[int]:
    """Samples of time that the modules of these names give for one window of zeros."""
    found = outputs(encoder, names, torch.zeros(1, 12, encoder.model_seq_len))
    return [each.shape[-1] for each in found.values()]


def outputs(encoder: torch.nn.Module, names: Iterable[str], x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Name inside ``state_module`` → what that module gave, (B, C, T), in the order of ``names``."""
    names, found = list(names), {}

    def keep(name: str):
        def hook(module, given, output):
            found[name] = (output.squeeze(2) if output.ndim == 4 else output).clone()

        return hook

    hooks = [encoder.state_module.get_submodule(name).register_forward_hook(keep(name)) for name in names]
    with torch.no_grad():
        encoder(x)
    for each in hooks:
        each.remove()
    return {name: found[name] for name in names}


def hold(
    encoder: torch.nn.Module,
    reference: str,
    within: float = 1e-5,
    prefix: str = "model.",
    constants: dict | None = None,
) -> int:
    """AssertionError where an output that the golden of rule B describes is another; returns how many were compared.

    ``prefix``: what the golden's names have before ours; ``constants``: key → values that the rule leaves alone.
    """
    described = json.loads((golden.GOLDEN / f"{reference}_golden.json").read_text())
    rules = golden.module("golden_init")
    rules.apply_rule(encoder.state_module, "B", keep_values=constants)
    x = rules.golden_input(described["fs"], described["T"])
    inside = described["rules"]["B"]["intermediate"]
    expected = {name.removeprefix(prefix): each for name, each in inside.items()}
    for name, output in outputs(encoder, expected, x).items():
        wanted = expected[name]
        assert list(output.shape) == wanted["shape"], name
        values = output.double().flatten()
        statistics = (values.mean(), values.std(correction=0), values.abs().max(), *values[:4])
        figures = (wanted["mean"], wanted["std"], wanted["absmax"], *wanted["first4"])
        for found, figure in zip(statistics, figures, strict=True):
            assert math.isclose(found, figure, rel_tol=0, abs_tol=within * wanted["absmax"]), (name, figure)
    return len(expected)
