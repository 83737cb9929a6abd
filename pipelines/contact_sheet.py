"""Small pictures of a task's rendered images, beside each other on a page that stands alone."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.images import Images, read_images
from warehouse.task import TaskData

SHOWN = 12
SHRINK = 4
"""A small picture has every fourth pixel's worth of the image, a detail has all of them."""
QUALITY = 82
DETAIL = (620, 360)
"""Width and height of the piece that is shown in full size, px."""


@dataclass(frozen=True)
class Picture:
    """One image of the sheet: ``data`` is a ``data:`` address, ``classes`` the labels, ``drawn`` the table's row."""

    instance_id: str
    part: str
    classes: tuple[str, ...]
    drawn: dict[str, Any]
    data: str
    width: int
    height: int


@dataclass(frozen=True)
class Sheet:
    """``pictures`` of ``of`` rendered images; ``detail`` is a piece of the first one, pixel for pixel."""

    pictures: tuple[Picture, ...]
    of: int
    detail: Picture
    images: Images


def contact_sheet(home: Home, task: TaskData, part: str, shown: int = SHOWN) -> Sheet | None:
    """The first images of a part by id, which is blind to what they show; None where nothing of it is rendered.

    Raises HomeError when an image of the table is not there or is no image.
    """
    import polars as pl

    try:
        images = read_images(home, task.spec.name)
    except HomeError:
        return None
    labelled = task.instances.select("instance_id", "part").with_columns(
        pl.Series("classes", [_names(row, task.classes) for row in task.targets], dtype=pl.List(pl.String))
    )
    rows = images.table.join(labelled.filter(pl.col("part") == part), on="instance_id").sort("instance_id")
    if not rows.height:
        return None
    pictures = tuple(_picture(images, row, SHRINK) for row in rows.head(shown).iter_rows(named=True))
    detail = _picture(images, rows.row(0, named=True), 1, DETAIL)
    return Sheet(pictures, rows.height, detail, images)


def _names(row, classes: tuple[str, ...]) -> list[str]:
    return [name for name, value in zip(classes, row, strict=True) if value == 1]


def _picture(images: Images, row: dict, shrink: int, size: tuple[int, int] | None = None) -> Picture:
    from pipelines.render.opencv import cv2

    path: Path = images.path(row["file"])
    pixels = cv2.imread(str(path))
    if pixels is None:
        raise HomeError(
            f"{path}: found no image; expected one, as image.parquet says",
            f"run `render {images.manifest['task']}` again: it draws what is missing or damaged anew",
        )
    height, width = pixels.shape[:2]
    if size is not None:
        top = int(0.36 * height)
        pixels = pixels[top : top + size[1], : size[0]]
    elif shrink > 1:
        pixels = cv2.resize(pixels, (width // shrink, height // shrink), interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    data = "data:image/jpeg;base64," + base64.b64encode(encoded.tobytes()).decode()
    return Picture(
        row["instance_id"], row["part"], tuple(row["classes"]), row, data, pixels.shape[1], pixels.shape[0]
    )
