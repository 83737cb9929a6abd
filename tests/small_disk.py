"""A small disk of its own, to be filled or made read-only."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def tmpfs(place: Path, size: str):
    """A small disk of its own; skips where this process may not mount."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"cannot mount a small disk here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def remount(place: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(place)], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill a disk but for ``leave`` bytes."""
    filler = disk / "filler"
    filler.write_bytes(b"\0" * max(shutil.disk_usage(disk).free - leave, 0))
    return filler
