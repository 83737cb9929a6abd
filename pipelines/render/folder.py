"""A folder of images as `render` writes it; :mod:`warehouse.images` says what lies in it.

Images come first, a line of the journal after each, table and manifest last. Killed anywhere, the folder has whole
images, the table before, and a journal of what came since; the next run reads both and goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.render.job import differences
from pipelines.render.shard import GEOMETRY_SUFFIX, file_of
from warehouse.digests import file_digest
from warehouse.errors import HomeError, UsageError
from warehouse.home import sync, write_text, writing
from warehouse.images import DRAWS, HASHING, JOURNAL, MANIFEST, TABLE, images_digest, read_manifest, verdict

if TYPE_CHECKING:
    import polars as pl

RESERVE = ".reserve"
WHERE = "--out or --data DIR"
"""What says where the folder lies."""
_FILE_COLUMNS = (
    "file",
    "format",
    "width",
    "height",
    "bytes",
    "sha256",
    "geometry_sha256",
    "wfdb_uv_per_count",
)


def schema() -> dict[str, pl.DataType]:
    """Columns and types of ``image.parquet``."""
    import polars as pl

    from pipelines.render.draws import draws_frame

    drawn = dict(draws_frame([]).schema)
    own = {"instance_id": drawn.pop("instance_id"), "file": pl.String, "format": pl.String}
    own |= {"width": pl.Int32, "height": pl.Int32, "bytes": pl.Int64, "sha256": pl.String}
    return own | {"geometry_sha256": pl.String, "wfdb_uv_per_count": pl.Int32} | drawn


class ImageFolder:
    """One run's hold on a folder. ``made_of`` is what decides the images: ``settings``, ``signals`` and ``task``."""

    def __init__(self, path: Path, made_of: Mapping[str, Any]) -> None:
        self.path = path
        self.made_of = made_of
        self.manifest = read_manifest(path)
        self._journal = None

    @contextmanager
    def held(self) -> Iterator[ImageFolder]:
        """Hold the folder's only writer's lock. Raises HomeError when another run has it or nothing can be written."""
        from filelock import FileLock, Timeout

        with writing(self.path, WHERE):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".lock", timeout=0)
            try:
                lock.acquire()
            except Timeout:
                raise HomeError(
                    f"{self.path}: found another `render` at work here; expected the folder free",
                    "wait until it has finished, or pass another --out DIR",
                ) from None
        try:
            yield self
        finally:
            lock.release()
            if self._journal is not None:
                with suppress(OSError):  # what it could not take was said before
                    self._journal.close()

    def open(self) -> None:
        """Look at what is there and begin the journal. Raises UsageError for images that were made otherwise."""
        self._refuse_to_mix()
        self.rows = self._known_rows()
        with writing(self.path, WHERE):
            for draft in (*self.path.glob("*/.*.part"), self.path / RESERVE):  # by a run that was killed
                draft.unlink(missing_ok=True)
            journal = self.path / JOURNAL
            fresh = not journal.exists() or not journal.stat().st_size
            whole = b"" if fresh else _whole_lines(journal.read_bytes())
            self._journal = journal.open("r+b" if not fresh else "wb")
            self._journal.truncate(len(whole))
            self._journal.seek(len(whole))
            if not whole:
                self._line(dict(self.made_of))

    def reserve(self, images: int) -> None:
        """Set space aside for the tables of so many more images: a full disk must not keep them from being told."""
        with writing(self.path, WHERE):
            (self.path / RESERVE).write_bytes(bytes(65_536 + 1_024 * (images + self.rows.height)))

    def valid(self, instance_ids: Iterable[str], geometry: bool) -> set[str]:
        """The instances whose image is there with the size and digest of its row; its geometry too, where asked."""
        import polars as pl

        rows = self.rows.filter(pl.col("instance_id").is_in(list(instance_ids)))
        rows = rows.select("instance_id", "file", "bytes", "sha256", "geometry_sha256").rows()
        with ThreadPoolExecutor(HASHING) as pool:
            fine = pool.map(lambda row: self._is_whole(*row, geometry=geometry), rows)
        return {row[0] for row, is_fine in zip(rows, fine, strict=True) if is_fine}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Note images that a shard gave."""
        for row in rows:
            self._line(row)
        self._journal.flush()

    def close(self, told: Callable[..., Mapping[str, Any]], failed: list[dict[str, str]]) -> dict[str, Any]:
        """Write table, drawn values and manifest; ``told`` makes more entries of it from the table and the failures.

        An image that failed now and was there before is no longer listed: it is not what the record gives.
        """
        with writing(self.path, WHERE):
            (self.path / RESERVE).unlink(missing_ok=True)
            self._journal.flush()
            table = self._known_rows()
            table = table.filter(~table["instance_id"].is_in([failure["instance_id"] for failure in failed]))
            self._write_table(table)
            files = (TABLE, DRAWS)
            manifest = {
                **self.made_of,
                **told(table, failed),
                "images": table.height,
                "bytes": int(table["bytes"].sum()),
                "digest": images_digest(table.select("instance_id", "sha256").iter_rows()),
                "tables": {name: _entry(self.path / name, table.height) for name in files},
                "failed": sorted(failed, key=lambda failure: failure["instance_id"]),
            }
            write_text(self.path / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
            self._journal.close()
            (self.path / JOURNAL).unlink(missing_ok=True)
            sync(self.path)
        self.manifest = manifest
        return manifest

    def _refuse_to_mix(self) -> None:
        before = self.manifest or self._journal_header()
        if before is None:
            return
        if before["task"] != self.made_of["task"]:
            raise UsageError(
                f"{self.path}: found images of {before['task']}; expected a folder of {self.made_of['task']} or none",
                "pass another --out DIR",
            )
        other = differences(before["settings"], self.made_of["settings"])
        if other:
            raise UsageError(
                f"{self.path}: found images made with other settings: {'; '.join(other)}",
                "ask for the settings of the folder, or pass another --out DIR: one folder holds one kind of image",
            )
        if before["signals"] != self.made_of["signals"]:
            raise UsageError(
                f"{self.path}: found images of other signals ({before['signals']['table']} was loaded again since)",
                "remove the folder, or pass another --out DIR",
            )

    def _journal_header(self) -> dict[str, Any] | None:
        head, _ = self._journal_parts()
        return json.loads(head) if head else None

    def _journal_parts(self) -> tuple[bytes, bytes]:
        """The journal's first line, which is what its images were made of, and its rows."""
        try:
            data = _whole_lines((self.path / JOURNAL).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return b"", b""
        head, _, rows = data.partition(b"\n")
        return head, rows

    def _known_rows(self) -> pl.DataFrame:
        """The table's rows and the journal's, the later one of an instance."""
        import polars as pl

        found = pl.DataFrame(schema=schema())
        if (
            self.manifest is not None
            and file_digest(self.path / TABLE) == self.manifest["tables"][TABLE]["sha256"]
        ):
            found = pl.read_parquet(self.path / TABLE, glob=False)
        _, lines = self._journal_parts()
        since = pl.read_ndjson(lines, schema=schema()) if lines else found.clear()
        return pl.concat([found, since]).unique("instance_id", keep="last").sort("instance_id")

    def _is_whole(
        self,
        instance_id: str,
        file: str,
        size: int,
        sha256: str,
        geometry_sha256: str | None,
        *,
        geometry: bool,
    ) -> bool:
        if verdict(self.path / file, size, sha256):
            return False
        where = self.path / file_of(instance_id, GEOMETRY_SUFFIX)
        return not geometry or (geometry_sha256 is not None and not verdict(where, None, geometry_sha256))

    def _write_table(self, table: pl.DataFrame) -> None:
        draft = self.path / f".{TABLE}.part"
        try:
            table.write_parquet(draft, compression="zstd", compression_level=1)
            sync(draft)
            draft.replace(self.path / TABLE)
        finally:
            draft.unlink(missing_ok=True)
        drawn = table.drop(_FILE_COLUMNS)
        draft = self.path / f".{DRAWS}.part"
        try:
            drawn.write_ndjson(draft)
            sync(draft)
            draft.replace(self.path / DRAWS)
        finally:
            draft.unlink(missing_ok=True)

    def _line(self, value: Mapping[str, Any]) -> None:
        self._journal.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")


def _whole_lines(data: bytes) -> bytes:
    """Without a last line that broke off."""
    return data[: data.rfind(b"\n") + 1]


def _entry(path: Path, rows: int) -> dict[str, Any]:
    return {"rows": rows, "bytes": path.stat().st_size, "sha256": file_digest(path)}
