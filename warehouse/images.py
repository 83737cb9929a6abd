"""What `render` leaves in the data home: a folder of images a task, readable without knowing how one is drawn.

::

    data/images/lydus_ecg_image_v0/
        manifest.json           settings, versions, what the images were drawn from, counts a part, what failed
        image.parquet           a row an image, by instance_id; SQL name image.lydus_ecg_image_v0
        render-params.jsonl     the drawn values, a line an image
        ab/ab12cd34ef56.jpg     <first two characters>/<instance_id>.<suffix>
        ab/ab12cd34ef56.json    with --geometry: where the leads lie on that image
        .journal.jsonl          while `render` works, or after it was killed: the images that no table has yet

``image.parquet`` and ``manifest.json`` are written last, whole or not at all, so what they say is there is there.

====================  ====================================================================================
``instance_id``       as in the task view
``file``              below the folder, with ``/``
``format``            ``jpeg`` or ``png``
``width``, ``height`` pixels
``bytes``, ``sha256`` of the file
``geometry_sha256``   of the JSON beside it; null without one
``wfdb_uv_per_count`` 1 or 10: the resolution that the values were rounded to; null where the spec has no rule
the drawn values      ``seed``, ``grey``, ``noise``, ``temperature``, … (:mod:`pipelines.render.draws`)
====================  ====================================================================================

``manifest.json`` holds ``version`` (1), ``task`` (``slug@version``), ``spec_digest``, ``rule`` (the task view's
fingerprint at the last run), ``settings`` and ``settings_digest``, ``is_published`` (are they the spec's),
``signals`` (table and digest), ``versions`` of the libraries and ``earlier_versions`` that drew some of the images,
``images``, ``bytes``, ``digest`` (sha256 over the lines ``<instance_id> <sha256>``, by instance_id: the same for the
same images, however they were made), ``tables`` (file → rows, bytes, sha256), ``parts`` (part → instances, rendered,
failed, wfdb_gain) and ``failed`` (instance_id, found, expected).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.digests import file_digest
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.spec import Spec, find_spec

if TYPE_CHECKING:
    import polars as pl

VERSION = 1
HASHING = 2
"""Threads that hash what is there; hashing releases the interpreter."""
MANIFEST = "manifest.json"
TABLE = "image.parquet"
DRAWS = "render-params.jsonl"
JOURNAL = ".journal.jsonl"
SCHEMA = "image"
"""``image.<task>_v<N>`` is the table in SQL."""

COLUMNS = {
    "instance_id": "VARCHAR",
    "file": "VARCHAR",
    "format": "VARCHAR",
    "width": "INTEGER",
    "height": "INTEGER",
    "bytes": "BIGINT",
    "sha256": "VARCHAR",
    "geometry_sha256": "VARCHAR",
    "wfdb_uv_per_count": "INTEGER",
    "seed": "BIGINT",
    "font": "VARCHAR",
    "grey": "DOUBLE",
    "noise": "BIGINT",
    "crop_coin": "BOOLEAN",
    "warm": "BOOLEAN",
    "temperature": "BIGINT",
    "rotation": "BIGINT",
    "crop": "DOUBLE",
    "crease_angle": "BIGINT",
    "creases_down": "BIGINT",
    "creases_across": "BIGINT",
    "texture": "BIGINT",
}
"""Columns of the table with DuckDB's types, as ``pipelines.render.folder`` writes them (a test compares)."""

_KEYS = ("version", "task", "settings", "settings_digest", "digest", "images", "tables", "parts", "failed")


@dataclass(frozen=True)
class Images:
    """The images of a task: ``table`` is ``image.parquet``, ``manifest`` the JSON beside it."""

    folder: Path
    manifest: dict[str, Any]
    table: pl.DataFrame

    @property
    def digest(self) -> str:
        """One sha256 for all images: what was trained on them is tied to it."""
        return self.manifest["digest"]

    def path(self, file: str) -> Path:
        """Where an image of the table lies."""
        return self.folder / file


def images_folder(home: Home, spec: Spec) -> Path:
    """``data/images/<slug with _>_v<N>``, whether it is there or not."""
    return home.images / spec.view.removeprefix("task.")


def read_images(home: Home, task: str, folder: Path | None = None) -> Images:
    """The images of TASK, from its folder in the home or from another one.

    Raises HomeError when nothing is rendered there, when the images are another task's, or when manifest and
    table do not fit; UsageError for an unknown task. The files themselves are not opened.
    """
    import polars as pl

    spec = find_spec(task)
    folder = folder or images_folder(home, spec)
    manifest = read_manifest(folder)
    if manifest is None:
        raise HomeError(
            f"{folder}: found no rendered images of {spec.name}; expected some",
            f"run `render {spec.name}` first",
        )
    if manifest["task"] != spec.name:
        raise HomeError(
            f"{folder}: found images of {manifest['task']}; expected those of {spec.name}",
            "pass the folder that was rendered for this task",
        )
    path = folder / TABLE
    if file_digest(path) != manifest["tables"][TABLE]["sha256"]:
        raise HomeError(
            f"{path}: missing, or not the table of {MANIFEST}; expected what `render` wrote",
            f"run `render {spec.name}` again: it draws the images anew",
        )
    return Images(folder, manifest, pl.read_parquet(path, glob=False))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """A folder's manifest, None where no run of `render` has ended there. Raises HomeError for a damaged one."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in _KEYS if key not in manifest]
        if missing:
            raise ValueError(f"no {', '.join(missing)}")
        if manifest["version"] != VERSION or TABLE not in manifest["tables"]:
            raise ValueError(f"version {manifest['version']!r}, tables {', '.join(manifest['tables'])}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise HomeError(
            f"{path}: found a damaged manifest ({error}); expected what `render` wrote",
            "remove the manifest and run render again: it draws the images anew",
        ) from error
    return manifest


def rendered(home: Home) -> dict[str, tuple[Path, str]]:
    """SQL name → table and its digest, of every task with images; a damaged folder counts as none."""
    found = {}
    for path in sorted(home.images.glob(f"*/{MANIFEST}")):
        try:
            manifest = read_manifest(path.parent)
        except HomeError:
            continue
        if manifest is not None and path.with_name(TABLE).is_file():
            found[f"{SCHEMA}.{path.parent.name}"] = (
                path.with_name(TABLE),
                manifest["tables"][TABLE]["sha256"],
            )
    return found


def changed_files(folder: Path) -> list[tuple[str, str]]:
    """What of a folder of images is not as its manifest and its table say: file, and what is wrong with it.

    Every file is read and hashed. Empty where nothing was rendered. Where the table is not the manifest's, nothing
    holds the images, and the table alone is named.
    """
    import polars as pl

    try:
        manifest = read_manifest(folder)
    except HomeError:
        return [(MANIFEST, "damaged")]
    if manifest is None:
        return []
    tables = {name: (entry["bytes"], entry["sha256"]) for name, entry in manifest["tables"].items()}
    found = _changed(folder, tables)
    if TABLE in dict(found):
        return found
    images, rows = {}, pl.read_parquet(folder / TABLE, glob=False)
    for file, size, sha256, geometry in rows.select("file", "bytes", "sha256", "geometry_sha256").iter_rows():
        images[file] = (size, sha256)
        if geometry is not None:
            images[str(Path(file).with_suffix(".json"))] = (None, geometry)
    return found + _changed(folder, images)


def _changed(folder: Path, files: Mapping[str, tuple[int | None, str]]) -> list[tuple[str, str]]:
    """The files that are not of this size (None: any) and digest."""
    with ThreadPoolExecutor(HASHING) as pool:
        verdicts = pool.map(lambda item: verdict(folder / item[0], *item[1]), files.items())
        return [(file, wrong) for file, wrong in zip(files, verdicts, strict=True) if wrong]


def verdict(path: Path, size: int | None, sha256: str) -> str | None:
    """What is wrong with a file of this size (None: any) and digest; None where nothing is."""
    if not path.is_file():
        return "missing"
    if size is not None and (there := path.stat().st_size) != size:
        return f"{there:,} bytes, not {size:,}"
    return None if file_digest(path) == sha256 else "another digest"


def images_digest(rows: Iterable[tuple[str, str]]) -> str:
    """sha256 over ``<instance_id> <sha256>`` lines of images, in the order of their ids."""
    digest = hashlib.sha256()
    for instance_id, sha256 in sorted(rows):
        digest.update(f"{instance_id} {sha256}\n".encode())
    return digest.hexdigest()
