"""Small releases for tests: written once, copied, then spoilt on purpose."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from warehouse.synthetic import write_vitaldb_release


def small_release(out: Path, *, cases: int = 12, seconds: float = 90, seed: int = 0) -> Path:
    """Annotations without signals, a few cases, in the real file formats."""
    write_vitaldb_release(out, cases=cases, seconds=seconds, seed=seed, signals=False)
    return out


def copy_of(release: Path, place: Path) -> Path:
    target = place / "release"
    shutil.copytree(release, target)
    return target


def annotation_file(release: Path, layout: str = "time_second,beat_type,rhythm_label") -> Path:
    """The first annotation file whose header begins like this."""
    for path in sorted((release / "annotations").glob("*.csv")):
        if path.read_text(encoding="utf-8-sig").startswith(layout):
            return path
    raise LookupError(layout)


def edit(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Rewrite a text file's lines; the byte order mark and the line ends stay."""
    data = path.read_bytes()
    bom = data.startswith(b"\xef\xbb\xbf")
    lines = data.decode("utf-8-sig").split("\n")
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + "\n".join(change(lines)).encode())
