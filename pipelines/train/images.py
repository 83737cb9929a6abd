"""Rendered pages as a model reads them: grey, small, decoded once.

A part's images become one uint8 memory map in ``data/cache/images/<task>/``, named by the digest of the images and
the size; delete the cache and nothing is lost. A JPEG at a half, a quarter or an eighth is decoded at that size,
which averages in the frequency domain and costs a fraction; any other is decoded whole and averaged by area.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import polars as pl

from pipelines.render.opencv import cv2
from pipelines.train.inputs import Inputs
from warehouse.errors import HomeError, InputError, Problem
from warehouse.home import Home, sync, writing
from warehouse.images import Images, images_digest, read_images
from warehouse.task import TaskData

REDUCED = {
    2: cv2.IMREAD_REDUCED_GRAYSCALE_2,
    4: cv2.IMREAD_REDUCED_GRAYSCALE_4,
    8: cv2.IMREAD_REDUCED_GRAYSCALE_8,
}
AT_A_TIME = 64
"""Decoded images that wait to be written, at most."""


def image_inputs(
    home: Home,
    task: TaskData,
    rows: np.ndarray,
    scale: float,
    *,
    folder: Path | None = None,
    workers: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Inputs:
    """The images (n, h, w) uint8 of the instances at positions `rows`, from the task's folder or another.

    An instance that `render` could not draw is absent. HomeError when nothing is rendered or the home cannot be
    written; InputError when instances were not rendered yet, the images differ in size, or files are damaged.
    """
    images = read_images(home, task.spec.name, folder)
    asked = pl.DataFrame(
        {"instance_id": task.instances["instance_id"].gather(rows).cast(pl.String), "row": rows}
    )
    found = asked.join(images.table, on="instance_id", how="left", maintain_order="left")
    absent = _absent(task, images, found.filter(pl.col("file").is_null()))
    found = found.filter(pl.col("file").is_not_null())
    if found.is_empty():
        raise InputError(f"{images.folder}: found no image of the {len(rows):,} instances that are asked for")
    sizes = found.select("width", "height").unique(maintain_order=True).rows()
    if len(sizes) > 1:
        told = ", ".join(f"{width} × {height}" for width, height in sizes[:3])
        raise InputError(
            f"{images.folder}: found images of different sizes ({told}); expected one",
            next_step="render the task into a folder of its own",
        )
    (width, height) = sizes[0]
    size = max(1, round(height * scale)), max(1, round(width * scale))
    digest = images_digest(found.select("instance_id", "sha256").iter_rows())
    ids = "\n".join(found["instance_id"].to_list())
    key = hashlib.sha256(f"{digest} {size} {ids}".encode()).hexdigest()[:16]
    path = home.path / "cache" / "images" / images.folder.name / f"{size[0]}x{size[1]}-{key}.npy"
    data = _cached(path, (found.height, *size))
    if data is None:
        _decode_all(path, images, found, size, workers, progress)
        data = _cached(path, (found.height, *size))
    if data is None:
        raise HomeError(f"{path}: cannot be read back", "check the disk and run the command again")
    described = {
        "kind": "images",
        "scale": scale,
        "height": size[0],
        "width": size[1],
        "settings": images.manifest["settings"],
    }
    return Inputs(found["row"].to_numpy(), data, digest, described, absent)


def _absent(task: TaskData, images: Images, missing: pl.DataFrame) -> dict[str, str]:
    """Instances without an image and why `render` could not draw them. InputError for those it has not tried."""
    why = {entry["instance_id"]: entry["found"] for entry in images.manifest["failed"]}
    absent = {name: why.get(name) for name in missing["instance_id"].to_list()}
    not_yet = [name for name, reason in absent.items() if reason is None]
    if not_yet:
        shown = ", ".join(not_yet[:3]) + (", …" if len(not_yet) > 3 else "")
        raise InputError(
            f"{images.folder}: found no image of {len(not_yet):,} instances ({shown}); expected one of each",
            next_step=f"run `render {task.spec.name}`: what is there is kept",
        )
    return {name: str(reason) for name, reason in absent.items()}


def _cached(path: Path, shape: tuple[int, int, int]) -> np.ndarray | None:
    """The memory map, None where it is not there or not whole."""
    with suppress(OSError, ValueError, EOFError):
        data = np.load(path, mmap_mode="r")
        if data.shape == shape and data.dtype == np.uint8:
            return data
    return None


def _decode_all(
    path: Path,
    images: Images,
    table: pl.DataFrame,
    size: tuple[int, int],
    workers: int | None,
    progress: Callable[[int], object] | None,
) -> None:
    """Decode in threads (OpenCV works outside Python's lock), write in order, publish whole or not at all."""
    problems: list[Problem] = []
    step = f"run `render` for {images.manifest['task']} again: it draws damaged images once more"
    with writing(path.parent), _alone(path.parent):
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
        try:
            with draft.open("wb") as file, ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
                header = {"descr": "|u1", "fortran_order": False, "shape": (table.height, *size)}
                np.lib.format.write_array_header_1_0(file, header)
                for some in table.select("file", "sha256", "width", "height", "format").iter_slices(
                    AT_A_TIME
                ):
                    made = pool.map(lambda row: _decode(images, row, size), some.iter_rows(named=True))
                    for pixels in made:
                        if isinstance(pixels, Problem):
                            problems.append(pixels)
                        else:
                            file.write(pixels.tobytes())
                    if progress is not None:
                        progress(some.height)
                file.flush()
                os.fsync(file.fileno())
            if not problems:
                draft.replace(path)
                sync(path.parent)
        finally:
            draft.unlink(missing_ok=True)
    if problems:
        raise InputError(f"{len(problems):,} images of {images.folder} cannot be used", problems, step)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process decodes a task's images at a time: a draft that is there then is what a killed one left."""
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        for draft in folder.glob(".*.npy.*"):
            draft.unlink(missing_ok=True)
        yield


def _decode(images: Images, row: dict, size: tuple[int, int]) -> np.ndarray | Problem:
    """One image, uint8 (h, w), or what is wrong with its file."""
    try:
        content = images.path(row["file"]).read_bytes()
    except OSError as error:
        return Problem(row["file"], error.strerror or "no file", "the image of the manifest")
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != row["sha256"]:
        return Problem(row["file"], f"sha256 {sha256[:12]}…", f"{row['sha256'][:12]}…, as the manifest says")
    pixels = small_grey(content, (row["height"], row["width"]), size, jpeg=row["format"] == "jpeg")
    return Problem(row["file"], "no readable image", row["format"]) if pixels is None else pixels


def small_grey(
    content: bytes, full: tuple[int, int], size: tuple[int, int], *, jpeg: bool
) -> np.ndarray | None:
    """The bytes of an image of `full` (height, width) as grey pixels uint8 of `size`; None where they are none."""
    whole = [by for by in REDUCED if (size[0] * by, size[1] * by) == tuple(full)] if jpeg else []
    flag = REDUCED[whole[0]] if whole else cv2.IMREAD_GRAYSCALE
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), flag)
    except cv2.error:
        return None
    if pixels is None or (not whole and pixels.shape != tuple(full)):
        return None
    if pixels.shape != size:
        pixels = cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_AREA)
    return pixels


def sampled_moments(data: np.ndarray, most: int = 256) -> tuple[float, float]:
    """Mean and standard deviation of the pixels from 0 to 1, over images that are spread over all."""
    places = np.unique(np.linspace(0, len(data) - 1, min(most, len(data))).astype(int))
    counts = sum(
        (np.bincount(data[place].ravel(), minlength=256) for place in places), np.zeros(256, np.int64)
    )
    values = np.arange(256) / 255
    mean = float(counts @ values / counts.sum())
    return mean, float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()))
