"""The data home: its folders, its one writer, and folders that are published whole or not at all.

A load and a build are *generations*: a complete folder beside the published name, which is a link to the
newest one. Publishing is one rename of that link, so a reader sees the old folder or the new one, never a
mixture, whoever the reader is (ours, pandas, a DuckDB shell) and whenever the writer is killed::

    data/built                   -> .built.9f2c41d07a3b
    data/.built.9f2c41d07a3b/    vitaldb/annotation_v0.parquet …, manifest.json
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import HomeError


@dataclass(frozen=True)
class Home:
    """A data home. ``path`` need not exist until something is written."""

    path: Path

    @classmethod
    def resolve(cls, option: str | os.PathLike[str] | None = None) -> Home:
        """``--data``, else ``$LEADHOUSE_DATA``, else ``./data``."""
        return cls(Path(option or os.environ.get("LEADHOUSE_DATA") or "data").absolute())

    @property
    def raw(self) -> Path:
        return self.path / "raw"

    @property
    def built(self) -> Path:
        return self.path / "built"

    @property
    def runs(self) -> Path:
        return self.path / "runs"

    @property
    def database(self) -> Path:
        return self.path / "leadhouse.duckdb"

    @contextmanager
    def writer(self, verb: str) -> Iterator[None]:
        """Hold the home's only writer's lock.

        Raises HomeError when another process holds it, or when the home cannot be written.
        """
        from filelock import FileLock, Timeout

        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".writer.lock", timeout=0)
            note = self.path / ".writer"
            try:
                lock.acquire()
            except Timeout:
                holder = note.read_text() if note.exists() else "another process"
                raise HomeError(
                    f"{self.path}: {holder} is writing here; found the lock taken, expected it free for `{verb}`",
                    "wait until it has finished, then run the command again; nothing was changed",
                ) from None
            try:
                note.write_text(f"`{verb}` (process {os.getpid()})")
                yield
            finally:
                with suppress(OSError):
                    note.unlink(missing_ok=True)
                lock.release()


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn the operating system's and DuckDB's refusals to write at ``place`` into a HomeError."""
    try:
        yield
    except OSError as error:
        raise _refusal(place, error.errno, str(error)) from error
    except Exception as error:
        duckdb = sys.modules.get("duckdb")  # not imported for a load, which does without
        if duckdb is None or not isinstance(error, duckdb.IOException):
            raise
        text = str(error)
        code = errno.ENOSPC if "No space left" in text else errno.EROFS if "Read-only" in text else None
        raise _refusal(place, code, text.splitlines()[0]) from error


def _refusal(place: Path, code: int | None, text: str) -> HomeError:
    if code == errno.ENOSPC:
        found, step = "no space left on the disk", "free some space or pass another --data DIR"
    elif code in (errno.EROFS, errno.EACCES, errno.EPERM):
        found, step = f"it cannot be written ({text})", "pass a writable --data DIR"
    elif code in (errno.ENOTDIR, errno.EEXIST):
        found, step = f"a file is in the way ({text})", "pass another --data DIR"
    else:
        found, step = text, "check the disk and run the command again"
    return HomeError(
        f"{place}: found {found}; expected a writable data home. What was complete before is still there",
        step,
    )


def sync(path: Path) -> None:
    """Flush a file or a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync(path.parent)
    finally:
        draft.unlink(missing_ok=True)


def carry(source: Path, target: Path) -> None:
    """Bring an unchanged file into a new generation: a hard link, a copy where the disk has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        shutil.copyfile(source, target)


@contextmanager
def generation(published: Path) -> Iterator[Path]:
    """A new folder that takes the name ``published`` when the block ends well, and vanishes when it does not."""
    published.parent.mkdir(parents=True, exist_ok=True)
    sweep(published)
    folder = published.with_name(f".{published.name}.{uuid.uuid4().hex[:12]}")
    folder.mkdir()
    try:
        yield folder
        publish(folder, published)
    except BaseException:
        if not _is_current(folder, published):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def publish(folder: Path, published: Path) -> None:
    """Make ``published`` mean ``folder``, durably and in one step; then drop the generation before it."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place) / name)
        sync(Path(place))
    link = published.with_name(f".{published.name}.link")
    link.unlink(missing_ok=True)
    link.symlink_to(folder.name)
    if published.is_dir() and not published.is_symlink():  # a home that was copied with its links resolved
        published.rename(published.with_name(f".{published.name}.{uuid.uuid4().hex[:12]}"))
    link.replace(published)
    sync(published.parent)
    sweep(published)


def sweep(published: Path) -> None:
    """Remove generations that nothing points to: what a killed writer left, and the one before the present."""
    for folder in published.parent.glob(f".{published.name}.*"):
        if folder.is_dir() and not folder.is_symlink() and not _is_current(folder, published):
            shutil.rmtree(folder, ignore_errors=True)


def _is_current(folder: Path, published: Path) -> bool:
    return published.is_symlink() and published.readlink().name == folder.name
