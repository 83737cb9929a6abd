"""sha256 of files, as manifests and load reports hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def source_digest(path: Path) -> str:
    """sha256 of a file. Raises OSError when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_digest(path: Path) -> str:
    """The same, the empty text when it cannot be read: it equals no digest."""
    try:
        return source_digest(path)
    except OSError:
        return ""


def files_digest(paths: Iterable[Path]) -> str:
    """sha256 over the digests of a table's files, in their order."""
    return joined(map(file_digest, paths))


def joined(digests: Iterable[str]) -> str:
    """The same from the files' own digests."""
    digest = hashlib.sha256()
    for each in digests:
        digest.update(bytes.fromhex(each))
    return digest.hexdigest()
