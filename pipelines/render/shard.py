"""A shard of instances → image files: what a worker does. The result hangs on the shard alone, not on who draws it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.render.job import ImageSettings, make_image
from pipelines.render.leads import NoPage
from pipelines.render.signals import Group, WfdbGain, leads_of, read_group, rounded
from warehouse.errors import HomeError

SHARD_IMAGES = 8
"""Images between two words of a worker: a second's work, so that a stop is quick and a kill loses little."""
GEOMETRY_SUFFIX = ".json"
IN_THE_WAY = (errno.EISDIR, errno.EEXIST, errno.ENOTDIR)
"""What hinders one file and no other: something of another kind has its name, or its sub-folder's."""


@dataclass(frozen=True)
class Plan:
    """What all shards of a run share."""

    folder: Path
    settings: ImageSettings
    wfdb_gain: WfdbGain | None
    geometry: bool


@dataclass(frozen=True)
class Shard:
    """Instances of one row group: (instance id, row of its record)."""

    plan: Plan
    group: Group
    instances: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Failure:
    """An image that could not be made. ``is_disk``: it could not be written, and others will not be either."""

    instance_id: str
    found: str
    expected: str
    is_disk: bool = False

    def as_dict(self) -> dict[str, str]:
        return {"instance_id": self.instance_id, "found": self.found, "expected": self.expected}


def shards(plan: Plan, group: Group, instances: Sequence[tuple[str, int]]) -> Iterator[Shard]:
    """A row group's instances in shards, by the row of their record."""
    ordered = sorted(instances, key=lambda each: each[::-1])
    for first in range(0, len(ordered), SHARD_IMAGES):
        yield Shard(plan, group, tuple(ordered[first : first + SHARD_IMAGES]))


def render_shard(shard: Shard) -> list[dict[str, Any] | Failure]:
    """Draw a shard's images and write them, each whole or not at all; a row of the table or a failure for each."""
    try:
        table = read_group(shard.group)
    except HomeError as error:
        found, expected = str(error).splitlines()[0].split("; expected ")
        return [Failure(instance_id, found, expected) for instance_id, _ in shard.instances]
    results: list[dict[str, Any] | Failure] = []
    for instance_id, row in shard.instances:
        try:
            results.append(_render(shard.plan, instance_id, table, row))
        except NoPage as error:
            (problem,) = error.problems
            results.append(Failure(instance_id, problem.found, problem.expected))
        except OSError as error:
            in_the_way = error.errno in IN_THE_WAY
            expected = "room for the image" if in_the_way else "a folder that can be written"
            results.append(Failure(instance_id, disk_words(error), expected, is_disk=not in_the_way))
            if not in_the_way:
                break
    return results


def disk_words(error: OSError) -> str:
    """What a refusal to write means."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space left on the disk"
    if error.errno in IN_THE_WAY:
        what = "a folder" if error.errno == errno.EISDIR else "a file"
        return f"{what} in the way of {error.filename2 or error.filename}"
    return f"a file that cannot be written ({error.strerror})"


def file_of(instance_id: str, suffix: str) -> str:
    """An image's file below its folder: a sub-folder takes a share of a million files."""
    return f"{instance_id[:2]}/{instance_id}{suffix}"


def _render(plan: Plan, instance_id: str, table, row: int) -> dict[str, Any]:
    from pipelines.render.draws import seed_of

    settings = plan.settings
    leads, hz = leads_of(table, row)
    uv_per_count = None
    if plan.wfdb_gain is not None:
        leads, uv_per_count = rounded(leads, plan.wfdb_gain)
    image = make_image(leads, hz, seed_of(instance_id, settings.seed_prefix), settings)
    file = file_of(instance_id, settings.suffix)
    geometry_sha256 = None
    if plan.geometry:
        text = json.dumps(image.geometry.as_dict(), separators=(",", ":"), allow_nan=False) + "\n"
        geometry_sha256 = _write(plan.folder / file_of(instance_id, GEOMETRY_SUFFIX), text.encode())
    return {
        "instance_id": instance_id,
        "file": file,
        "format": settings.format,
        "width": image.geometry.width,
        "height": image.geometry.height,
        "bytes": len(image.data),
        "sha256": _write(plan.folder / file, image.data),
        "geometry_sha256": geometry_sha256,
        "wfdb_uv_per_count": uv_per_count,
        **image.draws.as_dict(),
    }


def _write(path: Path, data: bytes) -> str:
    """Write a file in one step and return its sha256; it is flushed with the table, not one by one."""
    path.parent.mkdir(exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return hashlib.sha256(data).hexdigest()
