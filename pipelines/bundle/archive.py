"""The zip file of a bundle: bytes that hang on nothing but its members, and what is refused when one is read.

Members are stored as they are, names in order, with one time and one permission. So the same members give the same
archive on every machine, whatever its compression library (Parquet is compressed already, rules are small), and an
archive holds no more than its own size: nothing unfolds.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import uuid
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warehouse.errors import InputError, UsageError
from warehouse.home import sync, writing

TIME = (1980, 1, 1, 0, 0, 0)
"""Of every member: the first that a zip file can say."""
PERMISSIONS = 0o100644 << 16
NAME = re.compile(r"\w[\w@.-]*(/\w[\w@.-]*)*", re.ASCII)
MOST_MEMBERS = 10_000
MOST_BYTES = 64 << 20
"""Of a member that is read into memory; Parquet is not."""
LOCAL, CENTRAL, END = 30, 46, 22
"""Bytes of a zip file beside members and names: a member's two headers, and the end."""
ZIP64 = 0xFFFFFFFF
"""Bytes from which an archive has longer headers."""
CHUNK = 1 << 20
AS_WRITTEN = "get the archive again as it was deposited, without packing it anew"


def is_bundle(text: str) -> bool:
    """Whether a word of the command line means an archive, not the name of a run."""
    return Path(text).suffix == ".zip" or Path(text).is_file()


def write_archive(path: Path, members: Mapping[str, bytes]) -> str:
    """Write the archive whole or not at all, and give its sha256.

    Raises HomeError when it cannot be written. The same members give the same bytes.
    """
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    with writing(path.parent, "OUT"):
        try:
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as file:
                for name in sorted(members):
                    entry = zipfile.ZipInfo(name, TIME)
                    entry.create_system, entry.external_attr = 3, PERMISSIONS
                    file.writestr(entry, members[name])
            sync(draft)
            with draft.open("rb") as written:
                digest = hashlib.file_digest(written, "sha256").hexdigest()
            draft.replace(path)
            sync(path.parent)
        finally:
            draft.unlink(missing_ok=True)
    return digest


@dataclass(frozen=True)
class Archive:
    """An archive whose shape was checked; ``sizes``: bytes of each member by name."""

    path: Path
    file: zipfile.ZipFile
    sizes: Mapping[str, int]

    def digest(self, name: str) -> str | None:
        """sha256 of a member; None when its bytes contradict the archive's own checksum."""
        digest = hashlib.sha256()
        try:
            with self.file.open(name) as member:
                while piece := member.read(CHUNK):
                    digest.update(piece)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError):
            return None
        return digest.hexdigest()

    def read(self, name: str) -> bytes:
        """A member's bytes. Raises InputError for one that is damaged or too large to be what it is called."""
        if self.sizes[name] > MOST_BYTES:
            raise InputError(
                f"{self.path}, {name}: found {self.sizes[name]:,} bytes; expected at most {MOST_BYTES:,}"
            )
        try:
            return self.file.read(name)
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError) as error:
            raise InputError(
                f"{self.path}, {name}: found {error}; expected a whole member", next_step=AS_WRITTEN
            ) from error

    def extract(self, name: str, target: Path) -> Path:
        """Write a member to ``target``, whose place the caller chooses; a member's name decides nothing."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open(name) as member, target.open("xb") as file:
            shutil.copyfileobj(member, file, CHUNK)
        return target


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """An archive for reading. Nothing is unpacked.

    Raises UsageError when there is no such file, InputError for one that is no archive as `write_archive` writes it:
    no zip file, cut short, compressed, encrypted, names that leave the folder, come twice or lie over each other.
    """
    if not path.is_file():
        raise UsageError(f"{path}: found no file; expected a bundle, as `bundle TASK` writes it")
    try:
        file = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{path}: found no whole zip archive ({error}); expected a bundle, as `bundle TASK` writes it",
            next_step="fetch it again: a download that broke off ends like this",
        ) from error
    with file:
        entries = file.infolist()
        faults = [fault for fault in (_fault(entry) for entry in entries[:MOST_MEMBERS]) if fault]
        faults += _faults_of_all(entries, path.stat().st_size)
        if faults:
            more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
            raise InputError(
                f"{path}: found {faults[0]}{more}; expected an archive as `bundle TASK` writes it. "
                "Nothing was unpacked",
                next_step=AS_WRITTEN,
            )
        yield Archive(path, file, {entry.filename: entry.file_size for entry in entries})


def _fault(entry: zipfile.ZipInfo) -> str | None:
    """What is wrong with one member, in words."""
    name = entry.orig_filename
    if not NAME.fullmatch(name) or ".." in name:
        return f"a member with the name {name[:80]!a}"
    if entry.flag_bits & 1:
        return f"{name}, which is encrypted"
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        return f"{name}, which is compressed ({entry.file_size:,} bytes from {entry.compress_size:,})"
    if entry.external_attr != PERMISSIONS or entry.date_time != TIME:
        return f"{name} with a time or permissions of its own"
    return None


def _faults_of_all(entries: list[zipfile.ZipInfo], size: int) -> Iterator[str]:
    """What is wrong with the members together. ``size``: of the whole archive, in bytes."""
    names = [entry.filename for entry in entries]
    if len(names) > MOST_MEMBERS:
        yield f"{len(names):,} members"
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        yield f"{twice[0]} {Counter(names)[twice[0]]} times"
    elif names != sorted(names):
        yield "members that are not in the order of their names"
    expected = END + sum(LOCAL + CENTRAL + 2 * len(name) for name in names)
    expected += sum(entry.file_size for entry in entries)
    if size < ZIP64 and size != expected:
        yield f"{size:,} bytes where its members need {expected:,}"
    elif expected > size:
        yield "members that lie over each other"
