"""Files of torch, written whole or not at all, and read without running what is in them."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from pathlib import Path
from typing import Any, BinaryIO

from warehouse.errors import CheckFailed
from warehouse.home import sync, writing


def save(path: Path, content: Any) -> None:
    """Write tensors, numbers and texts in dictionaries and lists. HomeError when the disk refuses."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    with writing(path.parent):
        try:
            try:
                with draft.open("wb") as file:
                    _save(content, file)
                    file.flush()
                    os.fsync(file.fileno())
            except RuntimeError as error:  # torch's writer hides what the operating system said
                raise OSError(_reason(path), str(error).splitlines()[0]) from error
            draft.replace(path)
            sync(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def _save(content: Any, file: BinaryIO) -> None:
    import torch

    torch.save(content, file)


def _reason(path: Path) -> int:
    """The errno of a failed write: a full disk where nothing is free."""
    return errno.ENOSPC if shutil.disk_usage(path.parent).free < 1 << 20 else errno.EIO


def load(path: Path, what: str, step: str) -> dict[str, Any]:
    """The reverse. CheckFailed for a file that is damaged or none of ours."""
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(content, dict):
            raise ValueError(f"a {type(content).__name__}")
    except Exception as error:  # unpickling a damaged file fails in many ways
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise CheckFailed(f"{path}: found a damaged {what} ({reason:.200})", step) from error
    return content
