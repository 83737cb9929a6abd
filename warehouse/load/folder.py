"""The files of a release, at any depth, and what is in one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

LARGEST = 1 << 28
"""Bytes of a text file that is read whole: a thousand times the largest of the real ones."""


def bytes_of(path: Path) -> bytes:
    """A file's bytes. Raises OSError also for one of more than LARGEST, and for what is no file: a pipe never ends."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "no regular file")
    if status.st_size > LARGEST:
        raise OSError(errno.EFBIG, f"{status.st_size:,} bytes, more than {LARGEST:,}")
    return path.read_bytes()


def files_below(folder: Path) -> list[Path]:
    """Every file below ``folder``, in the order of their paths.

    Links are followed, to files and to folders. A folder that is met twice counts once, so a link to a folder
    above it ends there, and a link that points to nothing is still listed: whoever wants the file says so.
    """
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for name, folders, files in os.walk(folder, followlinks=True):
        place = Path(name)
        status = place.stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        linked = {each for each in folders if (place / each).is_symlink()}
        folders.sort(key=lambda each: (each in linked, each))
        found += [place / each for each in files]
    return sorted(found)
