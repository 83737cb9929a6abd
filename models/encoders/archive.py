"""The members of a torch zip: how large they may become, where they lie, and whether their bytes are those written.

torch's own reader compares no checksum, so that a file with a hole in it would load whole.
"""

from __future__ import annotations

import mmap
import zipfile
import zlib
from pathlib import Path
from typing import Any

from models.encoders.card import EncoderError

MULTIPLE, SPARE = 16, 1 << 20
"""A file's members have at most so many times its bytes, and so many more; weights hardly get smaller by packing."""
PICKLE_LIMIT = 64 << 20
"""Bytes of ``data.pkl``, which has names, shapes and a configuration in it; the numbers lie beside it."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CHUNK = 1 << 20
_HEADER = 30
"""Bytes of a local header before its two parts of any length (APPNOTE 4.3.7)."""


class ArchiveError(EncoderError):
    """A zip archive that is damaged, or grows beyond what weights need."""


def hold_sizes(path: Path, archive: zipfile.ZipFile) -> None:
    """ArchiveError for members that overlap or would unpack to more than weights need; nothing is unpacked here."""
    members, size = archive.infolist(), path.stat().st_size
    for member in members:
        if member.compress_type not in _METHODS:
            raise ArchiveError(f"a member {member.filename} packed by method {member.compress_type}")
        if member.compress_type == zipfile.ZIP_STORED and member.file_size != member.compress_size:
            raise ArchiveError(f"a member {member.filename} with two sizes: it is damaged")
        if member.filename.rpartition("/")[2] == "data.pkl" and member.file_size > PICKLE_LIMIT:
            raise ArchiveError(
                f"a {member.filename} of {member.file_size:,} bytes, where {PICKLE_LIMIT:,} are the most"
            )
    if (packed := sum(each.compress_size for each in members)) > size:
        raise ArchiveError(f"members of {packed:,} bytes in a file of {size:,}: they overlap")
    unpacked = sum(each.file_size for each in members)
    if unpacked > (most := MULTIPLE * size + SPARE):
        raise ArchiveError(
            f"a zip archive of {size:,} bytes that unpacks to {unpacked:,}, where {most:,} are the most"
        )


def hold_checksums(path: Path, archive: zipfile.ZipFile) -> bool:
    """ArchiveError names the first member whose CRC-32 is not that of its bytes; all are read.

    False when the file has no checksums: every one is 0, as ``torch.serialization.set_crc32_options(False)`` has it.
    """
    members = archive.infolist()
    if not any(each.CRC for each in members) and any(each.file_size for each in members):
        return False
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for member in members:
            if member.compress_type == zipfile.ZIP_STORED:
                found = _crc_stored(content, member)
            else:
                found = _crc_packed(archive, member)
            if found != member.CRC:
                raise ArchiveError(
                    f"a member {member.filename} whose bytes are not those that were written (CRC-32): the file is "
                    "damaged, or its download was not finished"
                )
    return True


def begin(content: Any, member: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin in ``content``, the file's bytes: behind its local header, which has lengths of its
    own. ArchiveError where there is none, and for a member that ends beyond the file."""
    header = bytes(content[member.header_offset : member.header_offset + _HEADER])
    if len(header) < _HEADER or header[:4] != b"PK\x03\x04":
        raise ArchiveError(f"a member {member.filename} that is not where it should be")
    lengths = (header[26:28], header[28:30])
    start = member.header_offset + _HEADER + sum(int.from_bytes(each, "little") for each in lengths)
    if start + member.compress_size > len(content):
        raise ArchiveError(f"a member {member.filename} that ends beyond the file")
    return start


def _crc_stored(content: mmap.mmap, member: zipfile.ZipInfo) -> int:
    start, crc = begin(content, member), 0
    end = start + member.file_size
    for place in range(start, end, _CHUNK):
        crc = zlib.crc32(content[place : min(place + _CHUNK, end)], crc)
    return crc


def _crc_packed(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    """Never more than the size that was declared: Python's reader stops there, and compares the checksum itself."""
    crc = 0
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc
