"""sha256 of files, as manifests and load reports hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def file_digest(path: Path) -> str:
    """sha256 of a file, the empty text when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def files_digest(paths: Iterable[Path]) -> str:
    """sha256 over the digests of a table's files, in their order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(bytes.fromhex(file_digest(path)))
    return digest.hexdigest()
