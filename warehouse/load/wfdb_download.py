"""A WFDB release fetched into a folder: its list of records, its headers, and the files that they name.

``RECORDS`` is asked for first, then ``SHA256SUMS.txt`` where the server has one: with it a file is whole when its
digest is the release's, so a damaged or half-fetched one is fetched again and everything else is left alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from warehouse.errors import InputError, Problem
from warehouse.home import writing
from warehouse.load.bar import bar
from warehouse.load.download import DownloadReport, Wanted, download_files
from warehouse.load.report import LoadReport
from warehouse.load.wfdb_header import header_lines

LIST, SUMS = "RECORDS", "SHA256SUMS.txt"
NOT_THERE = "HTTP 404"


@dataclass
class _Release:
    folder: Path
    url: str
    workers: int
    digests: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    stopped: str | None = None
    fetched: int = 0
    present: int = 0

    def fetch(
        self, names: Sequence[str], what: str, step: Callable[[int], object] | None = None
    ) -> DownloadReport[str]:
        """Fetch files by their names below the address; what fails is a problem."""
        wanted = [self._wanted(name, what) for name in dict.fromkeys(names)]
        if not wanted or self.stopped:
            return DownloadReport()
        for each in wanted:
            each.target.parent.mkdir(parents=True, exist_ok=True)
        report = download_files(wanted, base_url=self.url, workers=self.workers, progress=step)
        self.fetched += len(report.fetched)
        self.present += len(report.present)
        self.stopped = report.stopped
        return report

    def _wanted(self, name: str, what: str) -> Wanted[str]:
        digest = self.digests.get(name)
        check = None if digest is None else partial(_has_digest, digest=digest)
        return Wanted(name, f"{self.url.rstrip('/')}/{name}", self.folder / name, name, what, check)


def download_records(
    folder: Path, url: str, annotators: Sequence[str], workers: int, progress: bool, report: LoadReport
) -> None:
    """Fetch a release from ``url`` into ``folder``; what fails stands in the report, what is there and whole is kept.

    Raises InputError when the list of records cannot be had, and UsageError for an address that is none.
    """
    release = _Release(folder, url, workers)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        listed = release.fetch([LIST], "the release's list of records")
        if listed.problems and not (folder / LIST).is_file():
            raise InputError(
                f"{url}: nothing fetched, nothing loaded",
                listed.problems,
                "check the address (--base-url) and the line",
            )
        sums = release.fetch([SUMS], "the release's digests")
        release.problems += [problem for problem in sums.problems if problem.found != NOT_THERE]
        release.digests = _digests(folder / SUMS)
        records = _records(folder / LIST)
        files = [f"{name}.{annotator}" for name in records for annotator in annotators]
        headers = [f"{name}.hea" for name in records]
        while headers:  # a record in segments names further headers
            with bar(len(headers), "headers", progress) as step:
                release.problems += release.fetch(headers, "a header", step).problems
            named = [name for header in headers for name in _named_by(folder, header)]
            files += [name for name in named if not name.endswith(".hea")]
            headers = [name for name in named if name.endswith(".hea") and not (folder / name).is_file()]
        with bar(len(files), "download", progress) as step:
            release.problems += release.fetch(files, "a file of the release", step).problems
    report.problems += release.problems
    checked = "digests held" if release.digests else "the server has no digests"
    report.notes.append(
        f"download: {release.fetched:,} files from {url}, {release.present:,} were there; {checked}"
    )
    if release.stopped:
        report.notes.append(f"download: stopped, nothing comes from {url}: {release.stopped}")
        report.next_step = f"check the address {url} (--base-url) and the line, then run the same load again"
    elif release.problems:
        report.next_step = "run the same load again: only files that are not there are fetched"


def _records(path: Path) -> list[str]:
    """The names of ``RECORDS``. Raises InputError for one that would leave the folder."""
    names = [line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    odd = [
        Problem(path.name, f"record {name!r}", "a name below the folder", number)
        for number, name in enumerate(names, start=1)
        if name and not _is_below(name)
    ]
    if odd:
        raise InputError(f"{path.name}: rejected, nothing loaded", odd, "check the address (--base-url)")
    return list(dict.fromkeys(filter(None, names)))


def _named_by(folder: Path, header: str) -> list[str]:
    """The files that a header's lines name: signals, or the headers of segments."""
    path = folder / header
    if not path.is_file():
        return []
    lines = [line.split() for _, line in header_lines(path) if not line.startswith("#")]
    in_segments = bool(lines) and "/" in lines[0][0]
    beside = PurePosixPath(header).parent
    names = [
        str(beside / (f"{line[0]}.hea" if in_segments else line[0])) for line in lines[1:] if line[0] != "~"
    ]
    return [name for name in dict.fromkeys(names) if _is_below(name)]


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _digests(path: Path) -> dict[str, str]:
    """Name → sha256 of a list as sha256sum writes it; empty where there is none."""
    if not path.is_file():
        return {}
    lines = (
        line.split(maxsplit=1) for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
    )
    return {line[1].strip().lstrip("*"): line[0].lower() for line in lines if len(line) == 2}


def _has_digest(path: Path, *, digest: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != digest:
        raise InputError(
            path.name, [Problem(path.name, f"sha256 {found[:12]}…", f"{digest[:12]}…, as {SUMS} says")]
        )
