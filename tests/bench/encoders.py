"""How fast are the encoders, and what do their short cuts save? A batch of 8 windows, two threads, no gradients.

Each encoder in a process of its own, weights from `tests.models.encoders.weights`. *ms* is the median of five forwards
after a warm-up, by the clock, *CPU ms* the same of both threads' CPU time; *MiB* the peak of the process after the
first, torch and the weights included. What the fact sheets give for the benchmark's own code is another machine's, so
its ratio is no more than a hint. *plain* is measured here, in turn with the encoder: the same net as one function
(`tests.models.encoders.plain`); CPU times are compared, which a busy machine changes least. Two encoders are also
measured without the one thing that they save.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.bench.measure import measure

if TYPE_CHECKING:
    import torch

BATCH, THREADS, RUNS, ROUNDS = 8, 2, 5, 3

SHEET = {
    "cpc": 642,
    "ecg_fm": 2331,
    "ecg_fm_seed": 2467,
    "ecg_founder": 118,
    "ecg_jepa": 9419,
    "ecgfm_ked": 629,
    "hubert_ecg": 1476,
    "merl": 78,
    "st_mem": 1417,
}
"""ms of the fact sheets: two cores, torch 2.13."""
COLUMNS = ("ms", "CPU ms", "MiB", "sheet", "", "plain", "CPU", "bf16")

ONE = """
import sys
from tests.bench.encoders import one
result = one(sys.argv[1])
"""


def table() -> str:
    if importlib.util.find_spec("torch") is None:
        return "encoders: not measured, the extra `train` is not installed"
    from models import encoders

    lines = [
        f"encoders: a forward of {BATCH} windows, {THREADS} threads",
        " " * 12 + "".join(f"{column:>8}" for column in COLUMNS) + f"{'deviation':>11}",
    ]
    without, loads = [], []
    for name in encoders.names():
        if name in SHEET:
            found: dict[str, Any] = measure(ONE, name, runs=1).result
            loads.append(found["load"])
            lines.append(_line(name, found))
            if name in WITHOUT:
                ratio = found["without cpu"] / found["ours cpu"]
                without.append(f"  {name} {WITHOUT[name][0]}: {found['without']:.0f} ms, CPU × {ratio:.2f}")
    lines += ["without the one thing that it saves, in turn with the encoder:", *without]
    lines += [
        "sheet: ms of the benchmark's code on another machine, over ms here; plain: the net written from the sheet,",
        "nothing fused, cached or left out, here and in turn, its CPU time over the encoder's; bf16: ms under",
        "autocast, and how far pooled features are then off, of their absolute maximum",
    ]
    if not _computes_bf16():
        lines.append("bf16 not run: this CPU has no bfloat16 arithmetic and only imitates it.")
    lines.append(
        f"load average while measuring: {min(loads):.1f} to {max(loads):.1f} on {os.cpu_count()} cores"
    )
    return "\n".join(lines)


def _line(name: str, found: dict[str, Any]) -> str:
    cells = (
        f"{found['ours']:.0f}",
        f"{found['ours cpu']:.0f}",
        f"{found['peak'] / 2**20:.0f}",
        str(SHEET[name]),
        f"× {SHEET[name] / found['ours']:.1f}",
        f"{found['plain']:.0f}",
        f"× {found['plain cpu'] / found['ours cpu']:.2f}",
        f"{found['bf16']:.0f}" if "bf16" in found else "-",
    )
    deviation = f"{found['deviation']:.1e}" if "deviation" in found else "-"
    return f"{name:12}" + "".join(f"{cell:>8}" for cell in cells) + f"{deviation:>11}"


def one(name: str) -> dict[str, float]:
    """Times in ms, peak bytes, deviations of one encoder; to be called in a process of its own."""
    import torch

    from models import encoders
    from tests.models.encoders import plain, weights

    torch.set_num_threads(THREADS)
    encoder = encoders.create(name)
    state = weights.fill(encoder.state_module).state_dict()
    x = weights.window(encoder, BATCH)
    with torch.no_grad():
        _, pooled = encoder(x)
        unit = 1 if sys.platform == "darwin" else 1024
        found = {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}

        forms = {"plain": partial(plain.FORMS[name], state)}
        if name in WITHOUT:
            forms["without"] = partial(_without, encoder, WITHOUT[name][1])
        for form in forms.values():
            _hold(form(x)[1], pooled)
        times = {each: [] for each in ("ours", *forms)}
        for turn in range(RUNS):
            times["ours"].append(_timed(encoder, x))
            for each, form in forms.items() if turn < ROUNDS else ():
                times[each].append(_timed(form, x))
        for each, measured in times.items():
            found[each], found[f"{each} cpu"] = (
                statistics.median(kind) for kind in zip(*measured, strict=True)
            )

        if _computes_bf16():
            with torch.autocast("cpu", torch.bfloat16):
                found["deviation"] = _deviation(encoder(x)[1].float(), pooled)
                found["bf16"] = statistics.median(_timed(encoder, x)[0] for _ in range(ROUNDS))
    return found | {"load": os.getloadavg()[0]}


def _timed(form: Callable[[torch.Tensor], Any], x: torch.Tensor) -> tuple[float, float]:
    """ms by the clock, and of all threads' CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    form(x)
    return 1000 * (time.perf_counter() - clock), 1000 * (time.process_time() - cpu)


def _deviation(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


def _hold(found: torch.Tensor, expected: torch.Tensor) -> None:
    if _deviation(found, expected) > 1e-5:
        raise RuntimeError("two forms of one net give other features: their times say nothing")


def _computes_bf16() -> bool:
    import torch

    from pipelines.train.device import slow_half

    return slow_half(torch.device("cpu"), torch.bfloat16) is None


def _without(
    encoder: torch.nn.Module, how: Callable[[torch.nn.Module], Any], x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    with how(encoder):
        return encoder(x)


@contextmanager
def _dense_mask(encoder: torch.nn.Module) -> Iterator[None]:
    """ECG-JEPA's attention over all pairs of its 400 tokens with a boolean mask, in torch's fused call."""
    import torch
    from torch.nn import functional

    lead, patch = torch.arange(400) // 50, torch.arange(400) % 50
    mask = (lead[:, None] == lead) | (patch[:, None] == patch)

    def attend(attn: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        q, k, v = attn.qkv(x).unflatten(-1, (3, 16, -1)).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attn.proj(y.transpose(1, 2).flatten(2))

    attentions = [block.attn for block in encoder.state_module.encoder_blocks.blocks]
    for each in attentions:
        each.forward = partial(attend, each)
    yield
    for each in attentions:
        del each.forward


@contextmanager
def _no_cache(encoder: torch.nn.Module) -> Iterator[None]:
    encoder.train().eval()  # which drops the kernels of CPC
    yield


WITHOUT = {
    "ecg_jepa": ("with a dense mask of 400 × 400 in torch's fused attention", _dense_mask),
    "cpc": ("with its four kernels built at every forward", _no_cache),
}
