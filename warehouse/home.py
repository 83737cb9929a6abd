"""The data home: its folders, its one writer, and folders that are published whole or not at all.

A load and a build are *generations*: a complete folder beside the published name, which is a link to the
newest one. Publishing is one rename of that link, so a reader sees the old folder or the new one, never a
mixture, whoever the reader is (ours, pandas, a DuckDB shell) and whenever the writer is killed::

    data/built                   -> .built.9f2c41d07a3b
    data/.built.9f2c41d07a3b/    vitaldb/segment_v0.parquet …, manifest.json
    data/.built.previous         -> .built.51b0e8c7d2aa

The build before stays until the next one, so that who began to read it can end (raw data do not: signals are
large); a reader of ours pins the generation it begins with (:meth:`Home.pin`) and sees no other.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from warehouse.errors import HomeError, UsageError

T = TypeVar("T")
ATTEMPTS = 5
GONE = ".gone"
"""End of the name of a generation that is being removed."""

UNFIT = frozenset("*?[]\\")
"""Signs that make a path a pattern in the readers of Parquet files."""


@dataclass(frozen=True)
class Home:
    """A data home. ``path`` need not exist until something is written.

    A pinned home (see :meth:`pin`) has ``generation``: the folder that ``built`` means, whatever is published since.
    """

    path: Path
    generation: Path | None = None

    @classmethod
    def resolve(cls, option: str | os.PathLike[str] | None = None) -> Home:
        """``--data``, else ``$LEADHOUSE_DATA``, else ``./data``.

        Raises UsageError for a path that DuckDB would take for a pattern, or that is no text.
        """
        path = Path(option or os.environ.get("LEADHOUSE_DATA") or "data").absolute()
        unfit = sorted({sign for sign in str(path) if sign in UNFIT or not sign.isprintable()})
        if unfit:
            raise UsageError(
                f"{str(path)!a}: found {', '.join(map(ascii, unfit))} in the path of the data home; expected a "
                "path without patterns and control characters",
                "pass another --data DIR",
            )
        return cls(path)

    def pin(self) -> Home:
        """The same home, fixed to the generations that it has now."""
        return self if self.generation else Home(self.path, (self.path / "built").resolve())

    @property
    def raw(self) -> Path:
        return self.path / "raw"

    @property
    def built(self) -> Path:
        return self.generation or self.path / "built"

    def loaded(self, dataset: str) -> Path:
        """The folder of a loaded data set; where the home is pinned, the generation that is there now."""
        folder = self.raw / dataset
        return folder.resolve() if self.generation else folder

    @property
    def images(self) -> Path:
        return self.path / "images"

    @property
    def models(self) -> Path:
        return self.path / "models"

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


def read_pinned(home: Home, read: Callable[[Home], T]) -> T:
    """What ``read`` gives on the pinned home; once more when, while it was read, its build was replaced twice or a
    data set was loaded again."""
    for _ in range(ATTEMPTS):
        pinned, loads = home.pin(), _generations(home.raw)
        try:
            return read(pinned)
        except Exception:
            lost = home.built.is_dir() and not pinned.built.is_dir()
            if home.generation or not (lost or _generations(home.raw) != loads):
                raise
    raise HomeError(
        f"{home.path}: loads or builds are replaced faster than they can be read", "run the command again"
    )


def _generations(folder: Path) -> dict[str, str]:
    """What each link in a folder means at present."""
    links = [path for path in sorted(folder.iterdir()) if path.is_symlink()] if folder.is_dir() else []
    found = {}
    for path in links:
        with suppress(OSError):
            found[path.name] = path.readlink().name
    return found


@contextmanager
def writing(place: Path, option: str = "--data DIR") -> Iterator[None]:
    """Turn the operating system's and DuckDB's refusals to write at ``place`` into a HomeError.

    ``option``: what on the command line says where, for the next step.
    """
    try:
        yield
    except OSError as error:
        raise _refusal(place, option, error.errno, str(error)) from error
    except Exception as error:
        duckdb = sys.modules.get("duckdb")  # not imported for a load, which does without
        if duckdb is None or not isinstance(error, duckdb.IOException):
            raise
        text = str(error)
        code = errno.ENOSPC if "No space left" in text else errno.EROFS if "Read-only" in text else None
        raise _refusal(place, option, code, text.splitlines()[0]) from error


def _refusal(place: Path, option: str, code: int | None, text: str) -> HomeError:
    if code == errno.ENOSPC:
        found, step = "no space left on the disk", f"free some space or pass another {option}"
    elif code in (errno.EROFS, errno.EACCES, errno.EPERM):
        found, step = f"it cannot be written ({text})", f"pass a writable {option}"
    elif code in (errno.ENOTDIR, errno.EEXIST):
        found, step = f"a file is in the way ({text})", f"pass another {option}"
    else:
        found, step = text, "check the disk and run the command again"
    expected = "a writable data home" if "--data" in option else "a place that can be written"
    return HomeError(
        f"{place}: found {found}; expected {expected}. What was complete before is still there",
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


def take_place(draft: Path, out: Path) -> None:
    """Give a finished folder its name; the one that had it goes, or comes back when that fails.

    Two renames: for folders that somebody asked for outside the home, where no link stands before them.
    """
    old = draft.with_name(f"{draft.name}.old")
    if out.is_dir():
        out.rename(old)
    try:
        draft.rename(out)
    except OSError:
        if old.is_dir():
            old.rename(out)
        raise
    sync(out.parent)
    shutil.rmtree(old, ignore_errors=True)


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
def generation(published: Path, *, keep: bool = False) -> Iterator[Path]:
    """A new folder that takes the name ``published`` when the block ends well, and vanishes when it does not.

    ``keep``: the generation that had the name stays until the next one.
    """
    published.parent.mkdir(parents=True, exist_ok=True)
    sweep(published)
    folder = published.with_name(f".{published.name}.{uuid.uuid4().hex[:12]}")
    folder.mkdir()
    try:
        yield folder
        publish(folder, published, keep=keep)
    except BaseException:
        if not published.is_symlink() or published.readlink().name != folder.name:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def publish(folder: Path, published: Path, *, keep: bool = False) -> None:
    """Make ``published`` mean ``folder``, durably and in one step; ``keep`` the generation before it for a while."""
    for place, _, files in os.walk(folder):
        for name in files:
            sync(Path(place) / name)
        sync(Path(place))
    if keep and published.is_symlink():
        _link(published.readlink(), _previous(published))
    if published.is_dir() and not published.is_symlink():  # a home that was copied with its links resolved
        published.rename(published.with_name(f".{published.name}.{uuid.uuid4().hex[:12]}"))
    _link(Path(folder.name), published)
    sync(published.parent)
    sweep(published)


def sweep(published: Path) -> None:
    """Remove generations that are neither the present one nor the one before: what killed writers left."""
    kept = {link.readlink().name for link in (published, _previous(published)) if link.is_symlink()}
    for folder in published.parent.glob(f".{published.name}.*"):
        if folder.is_dir() and not folder.is_symlink() and folder.name not in kept:
            gone = folder if folder.suffix == GONE else folder.with_name(f"{folder.name}{GONE}")
            with suppress(OSError):
                folder.rename(gone)  # its name goes before its files: a reader that misses one sees why
            shutil.rmtree(gone, ignore_errors=True)


def _link(target: Path, name: Path) -> None:
    """Let ``name`` be a link to ``target``, in one step."""
    draft = name.with_name(f"{'' if name.name.startswith('.') else '.'}{name.name}.link")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(name)


def _previous(published: Path) -> Path:
    return published.with_name(f".{published.name}.previous")
