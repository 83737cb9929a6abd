"""What a checkpoint file is and holds, read without running anything in it."""

from __future__ import annotations

import codecs
import hashlib
import re
import struct
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from models.encoders.archive import hold_checksums, hold_sizes
from models.encoders.card import EncoderError
from models.encoders.stubs import plain
from models.encoders.torch_file import read_legacy, read_zip, zip_root

EXPECTED = "expected a checkpoint: safetensors, or what torch.save writes"
SAFETENSORS, ZIP, LEGACY = "safetensors", "torch zip", "torch legacy pickle"
CONFIGURATIONS = ("cfg", "args", "hyper_parameters", "model_config")
"""Where a file keeps the configuration of its model: fairseq's two places, Lightning's, HuBERT-ECG's."""

NO_CHECKSUMS = (
    "the file has no checksums (torch wrote it with set_crc32_options(False)): damage would not be seen"
)

_OTHERS = {
    b"\x1f\x8b": "a gzip archive: unpack it first",
    b"BZh": "a bzip2 archive: unpack it first",
    b"\xfd7zXZ": "an xz archive: unpack it first",
    b"7z\xbc\xaf": "a 7z archive: unpack it first",
    b"Rar!": "a rar archive: unpack it first",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"%PDF": "a PDF",
}


_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, EOFError, RuntimeError, MemoryError)
"""What Python's zip reader and torch raise where an archive is damaged."""


@dataclass(frozen=True)
class Source:
    """A file: ``size`` in bytes; ``form``: one of the three above; ``reader``: ``weights_only`` is torch's own,
    ``tolerant`` ours; ``stubs``: the classes and functions that it names and that were not run; ``notes``: what is to
    be known of the file beside."""

    path: Path
    size: int
    sha256: str
    form: str
    reader: str
    stubs: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contents:
    """``tree``: the file's value, plain containers with tensors and inert stubs in them."""

    source: Source
    tree: Any

    def configuration(self) -> tuple[str, Any] | None:
        """The first of `CONFIGURATIONS` that the file has, and what it says as plain containers."""
        if isinstance(self.tree, dict):
            for name in CONFIGURATIONS:
                if self.tree.get(name) is not None:
                    return name, plain(self.tree[name])
        return None


def read(path: Path) -> Contents:
    """EncoderError says what else it is, or where it is damaged."""
    try:
        if not path.exists():
            raise EncoderError(f"{path}: found no file; {EXPECTED}")
        if not path.is_file():
            raise EncoderError(
                f"{path}: found {'a folder' if path.is_dir() else 'no regular file'}; {EXPECTED}"
            )
        with path.open("rb") as stream:
            head = stream.read(1024)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = path.stat().st_size
        form = _form(path, head, size)
        reader, tree, stubs, *notes = _READERS[form](path)
    except OSError as error:
        raise EncoderError(f"{path}: it cannot be read ({error.strerror or error})") from error
    return Contents(Source(path, size, digest, form, reader, tuple(sorted(stubs)), tuple(notes)), tree)


def _form(path: Path, head: bytes, size: int) -> str:
    if not size:
        raise EncoderError(f"{path}: found an empty file; {EXPECTED}")
    if head.startswith(b"PK\x03\x04"):
        return ZIP
    header = int.from_bytes(head[:8], "little")
    if head[8:9] == b"{" and header < 2**32:
        if header > size - 8:
            raise EncoderError(
                f"{path}: found {size:,} bytes of a safetensors file whose header alone has {header:,}: it is cut off"
            )
        return SAFETENSORS
    if re.match(rb"\x80[\x02-\x05]", head):
        return LEGACY
    raise EncoderError(f"{path}: found {_other(head, size)}; {EXPECTED}")


def _other(head: bytes, size: int) -> str:
    """In words: what else the file is."""
    if head.startswith(b"version https://git-lfs"):
        declared = re.search(rb"^size (\d+)", head, re.MULTILINE)
        wanted = f" for {int(declared[1]):,} bytes" if declared else ""
        return f"a git-lfs pointer{wanted}, not the file: run `git lfs pull`"
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            return name
    if head[257:262] == b"ustar":
        return "a tar archive (torch wrote such before 2017): unpack it, or save it again with a newer torch"
    text = _text(head)
    if text:
        line = " ".join(text.split())
        shown = repr(line[:60]) + (" …" if len(line) > 60 else "")
        if text.startswith("<"):
            return f"a web page ({shown}), as a failed download leaves one"
        return f"text ({shown})"
    return f"{size:,} bytes that begin with {head[:8].hex(' ')}"


def _text(head: bytes) -> str:
    """What a text file begins with; empty for any other. The last character may be cut in two."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head).lstrip("\ufeff \r\n\t")
    except UnicodeDecodeError:
        return ""
    return text if all(each.isprintable() or each in "\r\n\t" for each in text) else ""


def _read_safetensors(path: Path) -> tuple[str, Any, set[str]]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise EncoderError(f"{path} needs safetensors: install the extra `train`") from error
    try:
        return "safetensors", load_file(str(path)), set()
    except (SafetensorError, KeyError, TypeError, *_DAMAGE) as error:
        raise EncoderError(
            f"{path}: found a safetensors file that is cut off or damaged ({error})"
        ) from error


def _read_zip(path: Path) -> tuple[Any, ...]:
    """Reader, value, stubs; and a note where the file has no checksums."""
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise EncoderError(
            f"{path}: found the beginning of a zip archive and no whole directory at its end ({error}): it is cut off "
            f"or damaged; {EXPECTED}"
        ) from error
    with archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        root = zip_root(names)
        if root is None:
            shown = ", ".join(names[:5]) or "none"
            raise EncoderError(
                f"{path}: found a zip archive without data.pkl (its members: {shown}); {EXPECTED}"
            )
        if f"{root}constants.pkl" in names:
            raise EncoderError(
                f"{path}: found a TorchScript archive, which is a program; expected its weights: "
                "torch.save(module.state_dict(), …)"
            )
        checked = _hold(path, archive)
    found = _read_torch(
        path, read_zip, mapped=all(each.compress_type == zipfile.ZIP_STORED for each in members)
    )
    return found if checked else (*found, NO_CHECKSUMS)


def _hold(path: Path, archive: zipfile.ZipFile) -> bool:
    """Whether the archive has checksums, once its sizes and they are seen to be right."""
    try:
        hold_sizes(path, archive)
        return hold_checksums(path, archive)
    except EncoderError as error:
        raise EncoderError(f"{path}: found {error}; {EXPECTED}") from error
    except (*_DAMAGE, NotImplementedError) as error:
        raise EncoderError(f"{path}: found a damaged archive ({error}); {EXPECTED}") from error


def _read_legacy(path: Path) -> tuple[str, Any, set[str]]:
    return _read_torch(path, read_legacy, mapped=False)


def _read_torch(path: Path, tolerant: Any, *, mapped: bool) -> tuple[str, Any, set[str]]:
    """torch's own reader of weights first; where it refuses, ours, which says what is wrong or leaves out classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = torch.load(str(path), map_location="cpu", weights_only=True, mmap=mapped)
            return "weights_only", tree, set()
        except Exception:  # torch raises what it meets; the tolerant reader says it in words
            pass
    try:
        tree, stubs = tolerant(path)
    except EncoderError as error:
        raise EncoderError(f"{path}: found {error}; {EXPECTED}") from error
    except _DAMAGE as error:
        raise EncoderError(f"{path}: found a damaged archive ({error}); {EXPECTED}") from error
    return "tolerant", tree, stubs


_READERS = {SAFETENSORS: _read_safetensors, ZIP: _read_zip, LEGACY: _read_legacy}
