"""The files of a release, at any depth."""

from __future__ import annotations

import os
from pathlib import Path


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
