"""Fixtures of every room."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """Facts and golden values, no part of the repository: beside the checkout, or $LEADHOUSE_SHARED."""
    folder = Path(os.environ.get("LEADHOUSE_SHARED") or Path(__file__).parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip(f"no shared folder at {folder}; set LEADHOUSE_SHARED to run this test")
    return folder
