"""One track of one .vital file, or an error that names what is wrong with it.

The ``vitaldb`` package reads the file. What it passes over in silence (1.7.2, read in its source and measured
here) is checked before or after:

=============================================  ==========================================
the file                                       what the package does
=============================================  ==========================================
gzip stream cut off                            a shorter array
cut off or damaged inside a sound stream       a shorter array, a line on stdout
gzip of something else                         an empty object
no such track                                  a column of NaN, or an empty array
a track whose name ends alike                  that track
another sampling rate                          nearest samples, no filter
no length                                      an empty list
a header without times                         a clock that begins with the tracks asked for
=============================================  ==========================================
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warehouse.errors import InputError, Problem

TRACK = "SNUADC/ECG_II"
HZ = 500
MAGIC = b"VITA"
GZIP_MAGIC = b"\x1f\x8b"
FIXED_HEADER = 10
"""Magic, version, length of the rest."""
HEADER_WITH_TIMES = 26
LONGEST_PACKET = 1_000_000
"""The package stops reading at a longer packet, unless the file is packed."""
LONGEST_S = 7 * 86_400
"""The package's own limit of a recording; beyond it the header is broken."""
WAVE = 1

_NEXT = "fetch the file again; if it stays so, leave the case out"


@dataclass(frozen=True)
class Recording:
    """``samples`` (n,) float32 mV at ``hz``, NaN where nothing was recorded; sample k lies at k/hz s.

    n is ``duration_s * hz`` rounded up, and one more where the clock's last bits make it so: 26.24 s at
    500 Hz came out as 13,121 samples.
    """

    samples: np.ndarray
    hz: int
    duration_s: float
    sha256: str


def read_track(path: Path, *, track: str = TRACK, hz: int = HZ) -> Recording:
    """Read ``track``, by its exact name and at exactly ``hz``. Raises InputError with one problem.

    Only this track is parsed, as ``vitaldb.load_case`` does. Where the header does not say when the recording
    began, all tracks are: the recording begins with the earliest record of any.
    """
    has_times = check_complete(path)
    file = _open(path, [track] if has_times else None)
    if track not in file.trks:
        raise _absent(path, track)
    wave = file.trks[track]
    if wave.type != WAVE:
        raise _refused(path, f"{track} as a track of single values", "a wave")
    if wave.srate != hz:
        raise _refused(path, f"{track} at {wave.srate:g} Hz", f"{hz} Hz; it is not resampled")
    duration = file.dtend - file.dtstart
    if not 0 < duration <= LONGEST_S:
        raise _refused(path, f"a recording of {duration:g} s", f"more than 0 and at most {LONGEST_S} s")
    samples = np.asarray(file.get_track_samples(track, 1 / hz), dtype=np.float32)
    if not duration * hz - 1 < len(samples) < duration * hz + 2:
        raise _refused(
            path, f"{len(samples)} samples", f"{duration:g} s at {hz} Hz, {duration * hz:.0f} samples"
        )
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    return Recording(samples, hz, duration, digest)


def check_complete(path: Path) -> bool:
    """Raise InputError unless the file is a gzip stream, whole to its end, of whole .vital packets.

    Returns whether its header says when the recording began and ended. Holds a few kB in memory.
    """
    size = path.stat().st_size
    expected = "a complete gzip stream"
    if not size:
        raise _refused(path, "an empty file", expected)
    try:
        with gzip.open(path) as stream:
            return _walk(path, stream)
    except EOFError:
        raise _refused(path, f"a gzip stream cut off after {size:,} bytes", expected) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        with path.open("rb") as handle:
            what = "a damaged gzip stream" if handle.read(2) == GZIP_MAGIC else "no gzip stream"
        raise _refused(path, f"{what} ({error})", expected) from None


def _walk(path: Path, stream: gzip.GzipFile) -> bool:
    """Go from packet to packet to the end of the stream, where gzip compares its checksum."""
    head = stream.read(FIXED_HEADER)
    if head[:4] != MAGIC:
        raise _refused(path, f"a gzip of something that begins {head[:4]!r}", f"a .vital file, {MAGIC!r}")
    header = stream.read(int.from_bytes(head[8:10], "little"))
    packed = header[HEADER_WITH_TIMES : HEADER_WITH_TIMES + 1] == b"\x01"
    at = FIXED_HEADER + int.from_bytes(head[8:10], "little")
    frame = struct.Struct("<BL")
    while len(opening := stream.read(frame.size)) == frame.size:
        _kind, length = frame.unpack(opening)
        if length > LONGEST_PACKET and not packed:
            raise _refused(path, f"a packet of {length:,} bytes at byte {at:,}", "packets below 1 MB")
        at += frame.size + length
        stream.seek(at)
    if opening or stream.tell() != at:
        found = f"{stream.tell():,} bytes of content"
        raise _refused(path, found, f"whole packets, at least {at:,} bytes")
    return len(header) >= HEADER_WITH_TIMES


def _refused(path: Path, found: str, expected: str, next_step: str | None = None) -> InputError:
    return InputError(
        f"{path.name} cannot be used", [Problem(path.name, found, expected)], next_step or _NEXT
    )


def _open(path: Path, tracks: list[str] | None, *, header_only: bool = False):
    """A ``vitaldb.utils.VitalFile``. What the package would print is an error."""
    from vitaldb.utils import VitalFile

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        file = VitalFile(str(path), tracks, header_only=header_only)
    if said.getvalue():
        raise _refused(
            path, f"content that vitaldb cannot parse ({said.getvalue().strip()})", "sound packets"
        )
    return file


def _absent(path: Path, track: str) -> InputError:
    present = sorted(_open(path, None, header_only=True).trks)
    alike = [name for name in present if name.endswith(track)]
    found = f"no track {track!r} among {len(present)}: {', '.join(present)}"
    if alike:
        found += f"; {alike[0]!r} only ends alike"
    expected = f"a track named exactly {track!r}"
    return _refused(path, found, expected, "leave the case out: its lead II is not there")
