"""``render TASK``: the images of a task's instances, drawn from the home's signals into one folder.

Work is cut into shards of a few instances of one row group; a shard's images hang on nothing but the shard, so one
worker and seven write the same bytes, and so does a run that goes on after a kill. What is there with the size and
digest of its row is kept. An instance that cannot be drawn costs only itself and is listed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.render.folder import ImageFolder
from pipelines.render.job import ImageSettings, augmenter, settings_digest, settings_for
from pipelines.render.outcome import RenderReport, told
from pipelines.render.progress import progress_bar
from pipelines.render.shard import Failure, Plan, Shard, disk_words, render_shard, shards
from pipelines.render.signals import WfdbGain, find_records, signal_table
from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.home import Home
from warehouse.images import VERSION, images_folder
from warehouse.load.pool import mapper
from warehouse.spec import find_spec

if TYPE_CHECKING:
    import polars as pl

PRELOAD = ("numpy", "pyarrow.parquet", "cv2", "matplotlib.backends.backend_agg")
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def render_task(
    home: Home,
    task: str,
    settings: ImageSettings | None = None,
    *,
    part: str | None = None,
    limit: int | None = None,
    workers: int | None = None,
    geometry: bool = False,
    out: Path | None = None,
    progress: bool = False,
) -> RenderReport:
    """Draw the images of TASK's instances that are used (``left_out`` is null), those of ``part`` where it is given.

    ``settings``: the spec's where None. ``limit``: only the first so many by instance id. ``geometry``: write where
    everything lies on an image as JSON beside it. ``out``: the folder, ``data/images/<task>`` where None. ``workers``:
    processes, one a core where None. What happens to single images is in the report. Raises UsageError for an unknown
    task or part, a task without images and a folder of other settings; HomeError where the task is not built, no
    signal is loaded, the folder cannot be written or a worker dies: what was drawn until then is kept.
    """
    from warehouse.task import read_task

    spec = find_spec(task)
    settings = settings_for(spec) if settings is None else settings
    if not settings.plain:
        augmenter(settings.augmenter)  # is it installed: asked before anything is written
    home = home.pin()
    built = read_task(home, spec.name)
    asked = _used(built.instances, part, limit)
    name, table = signal_table(home, spec)
    folder = ImageFolder(
        out or images_folder(home, spec),
        {
            "version": VERSION,
            "task": spec.name,
            "settings": settings.as_dict(),
            "settings_digest": settings_digest(settings.as_dict()),
            "signals": {"table": name, "sha256": table.digest},
        },
    )
    begin = time.monotonic()
    with folder.held():
        folder.open()
        there = folder.valid(asked["instance_id"], geometry)
        wanted = {key: str(record) for key, record in asked.iter_rows() if key not in there}
        places = find_records(table.files, set(wanted.values())) if wanted else {}
        if wanted and not places:
            raise HomeError(
                f"{home.path}: found no signal of the {len(wanted):,} instances asked for; expected them in {name}",
                f"load {spec.data['dataset']} with its signals",
            )
        plan = Plan(folder.path.resolve(), settings, WfdbGain.of(spec), geometry)
        run = _Run(folder, wanted)
        jobs = run.jobs(plan, places)
        folder.reserve(len(wanted))
        try:
            run.draw(jobs, workers or os.cpu_count() or 1, progress)
        finally:
            failed = [*_failed_before(folder, asked), *(each.as_dict() for each in run.failures)]
            manifest = folder.close(partial(told, built, settings, folder.manifest), failed)
    seconds = time.monotonic() - begin
    return RenderReport(
        spec.name,
        folder.path,
        asked.height,
        len(there),
        run.done,
        seconds,
        run.failures,
        manifest,
        run.stopped,
        built.stale,
    )


class _Run:
    """One pass over the shards: ``done`` images, ``failures``, and why it ``stopped`` before its end."""

    def __init__(self, folder: ImageFolder, wanted: dict[str, str]) -> None:
        self.folder = folder
        self.wanted = wanted
        self.done = 0
        self.failures: list[Failure] = []
        self.stopped: str | None = None

    def jobs(self, plan: Plan, places: dict) -> list[Shard]:
        """The shards in the order of the signals; what has no signal fails here."""
        instances: dict[str, list[str]] = {}
        for instance_id, record_id in self.wanted.items():
            instances.setdefault(record_id, []).append(instance_id)
        found = []
        for group, rows in places.items():
            here = [(each, row) for record_id, row in rows.items() for each in instances.pop(record_id, ())]
            found += shards(plan, group, here)
        without = sorted(each for some in instances.values() for each in some)
        self.failures += [
            Failure(each, "no signal of its record", "one in the loaded release") for each in without
        ]
        return found

    def draw(self, jobs: Sequence[Shard], workers: int, progress: bool) -> None:
        """Draw all shards; at the first file that cannot be written the rest is given up and listed."""
        from concurrent.futures.process import BrokenProcessPool

        left = {instance_id for job in jobs for instance_id, _ in job.instances}
        try:
            with mapper(workers, len(jobs), PRELOAD) as each, progress_bar(len(left), progress) as step:
                for results in each(render_shard, jobs):
                    self._take(results, left)
                    step(len(results))
                    if self.stopped:
                        break
        except (BrokenProcessPool, OSError):  # a pool that breaks while it is given work has closed its pipes
            raise HomeError(
                f"a worker process died (killed, or out of memory) after {self.done:,} images; expected it to go on",
                "run the same command again, with fewer --workers where memory is short: it goes on from here",
            ) from None
        if self.stopped:
            self.failures += [
                Failure(each, self.stopped, "a folder that can be written") for each in sorted(left)
            ]

    def _take(self, results: Sequence[dict | Failure], left: set[str]) -> None:
        failures = [result for result in results if isinstance(result, Failure)]
        rows = [result for result in results if not isinstance(result, Failure)]
        try:
            self.folder.add(rows)
        except OSError as error:
            self.stopped = disk_words(error)
            return
        self.done += len(rows)
        left -= {row["instance_id"] for row in rows}
        for failure in failures:
            if failure.is_disk:
                self.stopped = failure.found
            else:
                self.failures.append(failure)
                left.discard(failure.instance_id)


def _used(instances: pl.DataFrame, part: str | None, limit: int | None) -> pl.DataFrame:
    """instance_id and record_id of the instances to draw, by instance_id."""
    import polars as pl

    parts = instances["part"].drop_nulls().unique().sort().to_list()
    if part is not None and part not in parts:
        raise UsageError(f"found part {part!r}; expected one of {', '.join(parts)}")
    used = instances.filter(pl.col("left_out").is_null() & pl.col("part").is_not_null())
    used = used if part is None else used.filter(pl.col("part") == part)
    unfit = [each for each in used["instance_id"] if not _SAFE.fullmatch(each)]
    if unfit:
        raise RegistryError(
            f"found instance id {unfit[0]!r}; expected letters, digits, _ . - alone: it names a file"
        )
    return used.select("instance_id", "record_id").sort("instance_id").head(limit or used.height)


def _failed_before(folder: ImageFolder, asked: pl.DataFrame) -> list[dict[str, str]]:
    """Failures of earlier runs, of instances that this run was not asked for."""
    now = set(asked["instance_id"])
    before = folder.manifest["failed"] if folder.manifest else []
    return [failure for failure in before if failure["instance_id"] not in now]
