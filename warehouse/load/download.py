"""Fetch the files of a release, over a line that may break at any byte.

A file is written as ``<name>.part`` and gets its name only when it is whole (a .vital file's gzip stream, a record's
file by the release's own list of digests), so whatever carries the final name can be loaded, and whatever was
interrupted goes on where it stopped.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from warehouse.errors import InputError, Problem, UsageError
from warehouse.load.vital_track import check_complete

Key = TypeVar("Key", int, str)

CONNECT_S, READ_S = 10, 30
BACKOFF_S = 0.5
"""The first pause; each further one is twice as long, up to :data:`LONGEST_PAUSE_S`, less up to a half by chance."""
LONGEST_PAUSE_S = 60
CHUNK = 1 << 16
UNANSWERED_RETRIES = 3
"""Further attempts at a server that has never answered anybody."""
HOPELESS = 5
"""So many files that end without a byte, and none with one, and nothing more is tried."""
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be others in a minute; any other error is final."""


@dataclass(frozen=True)
class Wanted(Generic[Key]):
    """A file to fetch. ``name`` and ``what`` stand in a problem; ``check`` raises InputError for a file that is not
    whole. Without it a file counts as whole when it has the length that the server says, or has its name."""

    key: Key
    url: str
    target: Path
    name: str
    what: str
    check: Callable[[Path], None] | None = None


@dataclass
class DownloadReport(Generic[Key]):
    """Keys by what became of them; ``problems`` has a row for each that could not be fetched."""

    fetched: list[Key] = field(default_factory=list)
    present: list[Key] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    stopped: str | None = None
    """Why the rest was not tried: what was found of the last case that was."""


class _Stopped(Exception):
    """The user stopped; parts stay."""


class _Final(Exception):
    """An answer that no retry will change."""


class _Broken(Exception):
    """An attempt that failed and may be tried again. ``pause_s``: what the server asked for."""

    def __init__(self, what: str, pause_s: float = 0.0) -> None:
        self.pause_s = pause_s
        super().__init__(what)


class _Unreached(_Broken):
    """An attempt that found no server."""


@dataclass
class _Line:
    """What the files know together. ``signs`` counts answers and pieces that came: whether the server lives."""

    stop: threading.Event = field(default_factory=threading.Event)
    signs: int = 0
    given_up: str | None = None

    def give_up(self, cause: str) -> None:
        self.given_up = self.given_up or cause
        self.stop.set()


def download_cases(
    case_ids: Iterable[int],
    folder: Path,
    *,
    base_url: str,
    workers: int = 4,
    retries: int = 5,
    progress: Callable[[int], object] | None = None,
) -> DownloadReport[int]:
    """Fetch ``<base_url>/<caseid>.vital`` into ``folder`` as :func:`download_files` does."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = []
    for case_id in dict.fromkeys(case_ids):
        name = f"{case_id}.vital"
        wanted.append(
            Wanted(
                case_id,
                f"{base_url.rstrip('/')}/{name}",
                folder / name,
                f"case {case_id}",
                "a .vital file",
                check_complete,
            )
        )
    return download_files(wanted, base_url=base_url, workers=workers, retries=retries, progress=progress)


def download_files(
    wanted: list[Wanted[Key]],
    *,
    base_url: str,
    workers: int = 4,
    retries: int = 5,
    progress: Callable[[int], object] | None = None,
) -> DownloadReport[Key]:
    """Fetch every file of ``wanted``; one that is there and whole is left alone.

    ``retries`` counts attempts in a row that bring not one byte more; a line that drops every megabyte is
    followed to the end. A file that fails stands in the report and the rest goes on, unless nothing comes at all:
    no connection in all the attempts of a file, to a server that gave no sign to any other meanwhile (few attempts
    where it never gave one), or :data:`HOPELESS` files without a byte. Then the rest is not tried. ``progress`` is
    called with 1 after each file. Raises UsageError for a URL that is none, and what the file system raises (a
    full disk fails every file alike). After Ctrl-C the parts stay for the next call.
    """
    if not base_url.startswith(("http://", "https://")):
        raise UsageError(f"found base URL {base_url!r}; expected one that begins with http:// or https://")
    report: DownloadReport[Key] = DownloadReport()
    line = _Line()
    local = threading.local()

    def fetch(each: Wanted[Key]) -> str | Problem:
        if not hasattr(local, "session"):
            local.session = _session()
        file = _File(each, local.session, line)
        try:
            return file.fetch(retries)
        except _Stopped:
            if line.given_up is None:
                raise
            return file.problem(f"not fetched, for nothing comes from {base_url} ({line.given_up})")

    def is_hopeless(outcomes: dict[Key, str | Problem]) -> bool:
        return (
            len(outcomes) >= HOPELESS
            and all(isinstance(outcome, Problem) for outcome in outcomes.values())
            and not any(each.target.exists() or _part_of(each.target).exists() for each in wanted)
        )

    with ThreadPoolExecutor(workers, thread_name_prefix="download") as pool:
        waiting = {pool.submit(fetch, each): each.key for each in wanted}
        try:
            outcomes = {}
            for future in as_completed(waiting):
                outcomes[waiting[future]] = outcome = future.result()
                if line.given_up is None and len(outcomes) < len(wanted) and is_hopeless(outcomes):
                    line.give_up(outcome.found)
                if progress is not None:
                    progress(1)
        except BaseException:
            line.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    report.stopped = line.given_up
    for key, outcome in sorted(outcomes.items()):
        if isinstance(outcome, Problem):
            report.problems.append(outcome)
        else:
            getattr(report, outcome).append(key)
    return report


def _session():
    import requests

    session = requests.Session()
    session.headers["Accept-Encoding"] = "identity"
    return session


class _File:
    """One file on its way."""

    def __init__(self, wanted: Wanted, session, line: _Line) -> None:
        self.wanted, self.url, self.target = wanted, wanted.url, wanted.target
        self.part = _part_of(wanted.target)
        self.session, self.line = session, line

    def fetch(self, retries: int) -> str | Problem:
        check = self.wanted.check
        if self.target.exists() and (check is None or _is_whole(self.target, check)):
            return "present"
        failed, furthest, signs = 0, self._size(), self.line.signs
        while not (failed == 0 and furthest and check is not None and _is_whole(self.part, check)):
            if self.line.stop.is_set():
                raise _Stopped
            try:
                self._attempt()
                break
            except _Final as error:
                return self.problem(str(error))
            except _Broken as error:
                failed = 1 if self._size() > furthest else failed + 1
                furthest = max(furthest, self._size())
                signs = self.line.signs if failed == 1 else signs
                unreached = isinstance(error, _Unreached)
                if failed > (
                    retries if self.line.signs or not unreached else min(retries, UNANSWERED_RETRIES)
                ):
                    if unreached and self.line.signs == signs:
                        self.line.give_up(str(error))
                    return self.problem(f"{error}, after {failed} attempts")
                pause = min(BACKOFF_S * 2 ** (failed - 1), LONGEST_PAUSE_S) * random.uniform(0.5, 1)
                if self.line.stop.wait(max(pause, min(error.pause_s, LONGEST_PAUSE_S))):
                    raise _Stopped from None
        self.part.replace(self.target)
        return "fetched"

    def problem(self, found: str) -> Problem:
        return Problem(self.wanted.name, found, f"{self.wanted.what} at {self.url}")

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _attempt(self) -> None:
        """Bring the part to its end and check it. Raises _Broken or _Final when it does not come to that."""
        import requests
        from urllib3.exceptions import HTTPError

        have = self._size()
        asked = {"Range": f"bytes={have}-"} if have else {}
        try:
            with self.session.get(
                self.url, headers=asked, stream=True, timeout=(CONNECT_S, READ_S)
            ) as answer:
                self.line.signs += 1
                end = self._check(answer, have)
                resumed = answer.status_code == 206
                with self.part.open("ab" if resumed else "wb") as handle:
                    for chunk in answer.raw.stream(CHUNK, decode_content=False):
                        handle.write(chunk)
                        self.line.signs += 1
                        if self.line.stop.is_set():
                            raise _Stopped
                    handle.flush()
                    os.fsync(handle.fileno())
        except (requests.RequestException, HTTPError) as error:
            if _was_connected(error):
                raise _Broken(f"a broken connection ({_cause(error)})") from None
            raise _Unreached(f"no connection ({_cause(error)})") from None
        size = self._size()
        if end is not None and size != end:
            raise _Broken(f"{size:,} of {end:,} bytes")
        if self.wanted.check is None:
            return
        try:
            self.wanted.check(self.part)
        except InputError as error:
            if end is not None or "cut off" not in error.problems[0].found:
                self.part.unlink()
            raise _Broken(error.problems[0].found) from None

    def _check(self, answer, have: int) -> int | None:
        """The length that the whole file will have, where the server says so."""
        status = answer.status_code
        if status == 416:
            self.part.unlink(missing_ok=True)
            raise _Broken(f"no bytes after the first {have:,}: a part of another file, begun again")
        if status in PASSING:
            raise _Broken(f"HTTP {status}", _seconds(answer.headers.get("Retry-After")))
        if status not in (200, 206):
            raise _Final(f"HTTP {status}")
        length = answer.headers.get("Content-Length", "")
        if status == 200:
            return int(length) if length.isdigit() else None
        span, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
        if span.partition("-")[0] != str(have):
            self.part.unlink(missing_ok=True)
            raise _Broken(f"bytes {span or 'of nowhere'} where {have:,} were there")
        if total.isdigit():
            return int(total)
        return have + int(length) if length.isdigit() else None


def _part_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def _was_connected(error: Exception) -> bool:
    """Whether a server took the connection before it broke."""
    import requests
    from urllib3.exceptions import HTTPError, ProtocolError

    if isinstance(error, requests.ConnectionError):
        return bool(error.args) and isinstance(error.args[0], ProtocolError)
    return isinstance(error, (requests.ReadTimeout, requests.exceptions.ChunkedEncodingError, HTTPError))


def _cause(error: BaseException) -> str:
    """What the operating system says, else the error's name."""
    import requests

    inner = error.args[0] if error.args else None
    at = getattr(inner, "reason", inner)
    while isinstance(at, BaseException):
        if isinstance(at, OSError) and at.strerror and not isinstance(at, requests.RequestException):
            return at.strerror
        at = at.__cause__ or at.__context__
    return "no answer in time" if isinstance(error, requests.Timeout) else type(error).__name__


def _is_whole(path: Path, check: Callable[[Path], None]) -> bool:
    try:
        check(path)
    except InputError:
        return False
    return True


def _seconds(retry_after: str | None) -> float:
    """A Retry-After in seconds; a date, rare as it is, counts as no wish."""
    return float(retry_after) if retry_after and retry_after.isdigit() else 0.0
