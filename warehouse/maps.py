"""Maps: the rule tables of ``registry/maps/``. SQL reads them as ``map.<name>``; a loader reads them as columns."""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from pathlib import Path

from warehouse.errors import RegistryError
from warehouse.project import registry_path


def map_files() -> dict[str, Path]:
    """Every map by name, names in order."""
    return {path.stem: path for path in sorted(registry_path("maps").glob("*.csv"))}


def map_digest(name: str) -> str:
    """sha256 of the map's bytes."""
    return hashlib.sha256(_path(name).read_bytes()).hexdigest()


@cache
def map_rows(name: str) -> tuple[dict[str, str], ...]:
    """The map's rows as dictionaries of text, in file order. Raises RegistryError on a ragged row."""
    return read_map(_path(name))


def read_map(path: Path) -> tuple[dict[str, str], ...]:
    """The same of any file that is laid out as a map. Raises RegistryError for one that is no CSV in UTF-8 too."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            if file.read(1) == "\ufeff":
                raise RegistryError(
                    f"{path}: found a byte-order mark before the header; expected UTF-8 without one",
                    "save it as plain UTF-8, not as `CSV UTF-8` of a spreadsheet",
                )
            file.seek(0)
            reader = csv.DictReader(file, strict=True)
            rows = []
            for row in reader:
                if None in row or None in row.values():
                    raise RegistryError(
                        f"{path.name}, row {reader.line_num}: found another number of fields than the header's "
                        f"{len(reader.fieldnames or ())}; expected as many",
                        "mend the row; quote a field that holds a comma",
                    )
                rows.append(row)
    except UnicodeDecodeError as error:
        raise RegistryError(
            f"{path}: found bytes that are no UTF-8 ({error.reason}); expected a CSV"
        ) from error
    except csv.Error as error:
        raise RegistryError(f"{path}: found no CSV ({error}); expected one with a header") from error
    return tuple(rows)


def map_column(name: str, column: str) -> tuple[str, ...]:
    """One column of a map, in file order."""
    return tuple(row[column] for row in map_rows(name))


def _path(name: str) -> Path:
    path = registry_path("maps", f"{name}.csv")
    if not path.is_file():
        raise RegistryError(f"found no map {name!r}; expected one of: {', '.join(map_files())}")
    return path
