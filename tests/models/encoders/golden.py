"""The goldens of the encoders, where they are: deterministic weights and inputs, and what the reference gave."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "golden" / "encoders"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="needs ../shared/golden/encoders")


def module(name: str):
    """One of the goldens' own scripts, ``golden_init`` or ``verify_golden``."""
    if str(GOLDEN) not in sys.path:
        sys.path.insert(0, str(GOLDEN))
    return importlib.import_module(name)


def inventory(name: str) -> dict[str, dict]:
    """Key → shape and dtype of the reference's state dict."""
    return json.loads((GOLDEN / f"{name}_state.json").read_text())["state"]
