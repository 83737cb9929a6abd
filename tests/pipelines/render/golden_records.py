"""The golden WFDB records as the renderer takes them, and the pages that the reference generator made of them."""

import json
from functools import cache
from pathlib import Path

import numpy as np

NAMES = (
    "ptbxl00001_100hz",
    "ptbxl00001_500hz",
    "s0010_00s",
    "s0010_10s",
    "syn_afib110",
    "syn_flat0",
    "syn_sinus75",
    "syn_steps",
)


@cache
def read_leads(header: Path) -> tuple[dict[str, np.ndarray], float]:
    """Lead → (n,) mV, and Hz."""
    import wfdb

    record = wfdb.rdrecord(str(header))
    return dict(zip(record.sig_name, record.p_signal.T.copy(), strict=True)), float(record.fs)


def golden_leads(shared: Path, name: str) -> tuple[dict[str, np.ndarray], float]:
    return read_leads(shared / "golden/render/records" / name)


@cache
def golden_draws(shared: Path) -> dict[str, dict]:
    return json.loads((shared / "golden/render/draws.json").read_text())


def golden_page(shared: Path, name: str) -> np.ndarray:
    """(1700, 2200, 3) uint8."""
    from PIL import Image

    with Image.open(shared / f"golden/render/plain/{name}-0.png") as image:
        return np.asarray(image.convert("RGB"))
