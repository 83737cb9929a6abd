"""A home with toy pages, rendered; the small network where a test does not ask for the real one."""

import importlib.util
from pathlib import Path

import pytest
from toy_street import Street, patched

from warehouse.home import Home


@pytest.fixture
def street(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Street:
    """With the small network, on one thread: two that wait for each other cost more than they give."""
    if importlib.util.find_spec("torch") is not None:
        import tiny
        import torch

        torch.set_num_threads(1)
        monkeypatch.setattr("models.make", tiny.make)
    return patched(monkeypatch, Home(tmp_path / "data"))
