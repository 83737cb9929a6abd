"""What a run of `render` tells: the manifest's counts, the report for a terminal, the list of what failed."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.render.job import ImageSettings, settings_for
from pipelines.render.shard import Failure
from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    import polars as pl

    from warehouse.task import TaskData

LIBRARIES = ("leadhouse", "matplotlib", "numpy", "opencv-python-headless", "imgaug")
"""What an image's bytes hang on; imgaug where it is installed."""


@dataclass
class RenderReport:
    """What a run did. ``failures`` are the images that it could not make, ``stopped`` why it ended before the last."""

    task: str
    folder: Path
    asked: int
    kept: int
    rendered: int
    seconds: float
    failures: list[Failure]
    manifest: dict[str, Any]
    stopped: str | None = None
    stale: tuple[str, ...] = ()
    """What changed since the task was built: its parts may be others now."""

    @property
    def images_per_s(self) -> float:
        return self.rendered / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "folder": str(self.folder),
            "asked": self.asked,
            "kept": self.kept,
            "rendered": self.rendered,
            "failed": [failure.as_dict() for failure in self.failures],
            "stopped": self.stopped,
            "seconds": round(self.seconds, 3),
            "images_per_s": round(self.images_per_s, 2),
            **{name: self.manifest[name] for name in ("images", "bytes", "digest", "parts")},
        }

    def as_text(self) -> str:
        from warehouse.table import as_text

        manifest = self.manifest
        lines = [
            f"rendered {self.rendered:,} images of {self.task} in {self.seconds:.1f} s "
            f"({self.images_per_s:.1f} a second); kept {self.kept:,} that were there",
            f"  {self.folder}: {manifest['images']:,} images, {manifest['bytes'] / 1e6:,.1f} MB, "
            f"digest {manifest['digest'][:12]}",
        ]
        if manifest["earlier_versions"]:
            lines.append(
                "  some were drawn with other versions of the libraries: see earlier_versions in the manifest"
            )
        if not manifest["is_published"]:
            lines.append("  these are not the settings of the spec: no score on such images is the task's")
        rows = [
            (part, told["instances"], told["rendered"], told["failed"], _gains(told["wfdb_gain"]))
            for part, told in manifest["parts"].items()
        ]
        return "\n".join([*lines, as_text(("part", "instances", "rendered", "failed", "µV a count"), rows)])

    def raise_for_failures(self) -> None:
        """Raise InputError with the list when an image is missing that was asked for."""
        if not self.failures:
            return
        summary = f"{len(self.failures):,} of {self.asked:,} images were not made; the rest is there"
        step = (
            f"mend these records and render again; the whole list stands in {self.folder / 'manifest.json'}"
        )
        if self.stopped:
            summary = f"{self.stopped}; {summary}"
            step = "make room, or a folder that can be written, and run the same command again: it goes on from here"
        problems = [
            Problem(f"instance {each.instance_id}", each.found, each.expected) for each in self.failures
        ]
        raise InputError(summary, problems, step)


def told(
    built: TaskData,
    settings: ImageSettings,
    before: Mapping[str, Any] | None,
    table: pl.DataFrame,
    failed: Sequence[dict[str, str]],
) -> dict[str, Any]:
    """The manifest's entries on what was drawn: how, with which versions, how much of each part.

    ``before`` is the manifest of the run before, whose images are kept: other versions that it names stay named.
    """
    earlier = [] if before is None else [*before.get("earlier_versions", ()), before["versions"]]
    now = versions()
    return {
        "spec_digest": built.spec.digest,
        "rule": built.fingerprint,
        "is_published": settings == settings_for(built.spec),
        "versions": now,
        "earlier_versions": [each for each in earlier if each != now],
        "parts": _parts(built, table, failed),
    }


def versions() -> dict[str, str]:
    """Of Python and of every library that draws."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _parts(built: TaskData, table: pl.DataFrame, failed: Sequence[dict[str, str]]) -> dict[str, Any]:
    import polars as pl

    used = built.instances.filter(pl.col("left_out").is_null() & pl.col("part").is_not_null())
    drawn = used.join(table.select("instance_id", "wfdb_uv_per_count"), on="instance_id")
    lost = used.filter(pl.col("instance_id").is_in([each["instance_id"] for each in failed]))
    instances, failures = Counter(used["part"]), Counter(lost["part"])
    gains = Counter(drawn.select("part", "wfdb_uv_per_count").iter_rows())
    return {
        part: {
            "instances": instances[part],
            "rendered": sum(count for (own, _), count in gains.items() if own == part),
            "failed": failures[part],
            "wfdb_gain": {
                str(uv): count
                for (own, uv), count in sorted(gains.items(), key=str)
                if own == part and uv is not None
            },
        }
        for part in sorted(instances)
    }


def _gains(gains: dict[str, int]) -> str:
    """As in ``1: 1,998, 10: 2``; a dash where records go to the printer as they are stored."""
    return ", ".join(f"{uv}: {count:,}" for uv, count in gains.items()) or "–"
