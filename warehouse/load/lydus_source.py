"""Where the parts of a LYDUS release are: found by their content in a folder, or named by a ``lydus.toml``.

::

    metadata = "ecg.csv.xz"       # a row a record
    dx_lines = "lines.parquet"    # only when the statements are a table of their own: a row a line
    signals = "ecg.npz"           # or a folder of .npy or WFDB records
    encoding = "cp949"            # utf-8-sig, utf-8 or cp949
    dx_separator = "newline"      # newline, literal-newline, pipe or none
    uv_per_count = 4.88           # where the signals do not say it themselves

    [columns]                     # role = "column name"; roles that are not named are searched
    record_id = "ECG number"
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from warehouse.errors import InputError, Problem, UsageError
from warehouse.load.tables_in import header_of, is_table

MANIFEST = "lydus.toml"
UV_PER_COUNT = 4.88
"""The step of the device's converter (MUSE: LeadAmplitudeUnitsPerBit), unless the release says another."""

MEASUREMENTS = ("vrate", "arate", "pri", "qrsd", "qti", "qtc", "paxis", "raxis", "taxis")
TEXTS = ("rhythm", "premature_beat", "bbb", "avb", "pacing", "age", "sex", "conclusion")
ROLES: dict[str, tuple[str, ...]] = {
    "record_id": ("new_id", "record_id", "rid", "id", "file"),
    "dx": ("dx", "dx_line", "diagnosis", "statement", "statements"),
    "line_no": ("line_no", "line"),
    "patient_id": ("hid", "patient_id", "patient", "pid", "subject_id"),
    "rhythm": ("rhythm",),
    "premature_beat": ("premature_beat", "pb"),
    "bbb": ("bbb", "bundle_branch_block"),
    "avb": ("avb", "av_block"),
    "pacing": ("pacing",),
    "age": ("age",),
    "sex": ("sex",),
    "conclusion": ("conclusion",),
    **{name: (name,) for name in MEASUREMENTS},
}
"""Role → column names taken for it, first match first; letter case, blanks, ``_`` and ``-`` do not count."""

_KEYS = {"metadata": str, "dx_lines": str, "signals": str, "encoding": str, "dx_separator": str,
         "uv_per_count": (int, float), "columns": dict}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """The parts of a release. ``columns``: role → the column that the manifest names."""

    metadata: Path | None
    dx_lines: Path | None
    signals: Path | None
    encoding: str | None = None
    dx_separator: str | None = None
    uv_per_count: float = UV_PER_COUNT
    columns: dict[str, str] = field(default_factory=dict)


def find_source(source: Path) -> Source:
    """Take SOURCE apart: a folder, a ``lydus.toml``, or the metadata file alone.

    Raises UsageError when nothing is there or two files could be meant, InputError (E01) when no table has a
    record id and statements.
    """
    if not source.exists():
        raise UsageError(
            f"{source}: found nothing; expected the folder of a LYDUS release, or its {MANIFEST}",
            "pass the folder that holds the metadata table and the signals",
        )
    manifest = source / MANIFEST if source.is_dir() else source
    if manifest.suffix == ".toml" and manifest.exists():
        return _by_manifest(manifest)
    if source.is_file():
        return Source(source, None, None)
    metadata, dx_lines = _tables(source, {})
    return Source(metadata, dx_lines, _signals(source))


def columns_of(names: list[str] | tuple[str, ...], given: dict[str, str]) -> dict[str, str]:
    """Role → column, for the roles that a table's ``names`` fill."""
    plain = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    found = {}
    for role, known in ROLES.items():
        if role in given and given[role] in names:
            found[role] = given[role]
        elif role not in given:
            match = next((plain[_plain(each)] for each in known if _plain(each) in plain), None)
            if match is not None:
                found[role] = match
    return found


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).casefold()


def _by_manifest(path: Path) -> Source:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name}: found {error}; expected TOML", "mend the manifest") from None
    for key, value in values.items():
        if key not in _KEYS or not isinstance(value, _KEYS[key]):
            raise UsageError(
                f"{path.name}: found {key} = {value!r}; expected some of {', '.join(_KEYS)}, with text or a number"
            )
    columns = values.get("columns", {})
    unknown = sorted(set(columns) - set(ROLES))
    if unknown:
        raise UsageError(f"{path.name}: found role {unknown[0]!r}; expected one of {', '.join(ROLES)}")
    parts = {}
    for key in ("metadata", "dx_lines", "signals"):
        parts[key] = path.parent / values[key] if key in values else None
        if parts[key] is not None and not parts[key].exists():
            raise UsageError(f"{path.name}: found {key} = {values[key]!r}, which is not there")
    if parts["metadata"] is None:
        parts["metadata"], dx_lines = _tables(path.parent, columns)
        parts["dx_lines"] = parts["dx_lines"] or dx_lines
    return Source(
        **parts,
        encoding=values.get("encoding"),
        dx_separator=values.get("dx_separator"),
        uv_per_count=float(values.get("uv_per_count", UV_PER_COUNT)),
        columns=columns,
    )


def _tables(folder: Path, given: dict[str, str]) -> tuple[Path | None, Path | None]:
    """The table of records, and the table of lines where there is one."""
    headers = {path: header_of(path) for path in sorted(folder.rglob("*")) if is_table(path)}
    roles = {path: columns_of(names, given) for path, names in headers.items()}
    lines = [path for path, found in roles.items() if {"record_id", "dx", "line_no"} <= set(found)]
    whole = [path for path, found in roles.items() if {"record_id", "dx"} <= set(found) and path not in lines]
    beside = [path for path, found in roles.items() if _is_record_table(found)]
    if len(whole) == 1 and not lines:
        return whole[0], None
    if len(lines) == 1 and not whole and len(beside) <= 1:
        return (beside[0] if beside else None), lines[0]
    if len(whole) + len(lines) > 1 or (lines and len(beside) > 1):
        names = ", ".join(str(path.relative_to(folder)) for path in (*whole, *lines, *beside))
        raise UsageError(
            f"{folder}: found {names}; expected one table of records", f"name it as metadata in {MANIFEST}"
        )
    problems = [
        Problem(
            f"E01 {path.relative_to(folder)}",
            f"columns {', '.join(names[:14]) or '(none that can be read)'}",
            " and ".join(
                f"a {role} ({', '.join(ROLES[role])})"
                for role in ("record_id", "dx")
                if role not in roles[path]
            ),
            1,
        )
        for path, names in headers.items()
    ] or [Problem(f"E01 {folder}", "no table", f"a table of records ({MANIFEST} may name it)")]
    raise InputError(
        f"{folder}: no table with a record id and statements, nothing loaded",
        problems,
        f"name the columns in {MANIFEST}: [columns] record_id = …, dx = …",
    )


def _is_record_table(found: dict[str, str]) -> bool:
    """A table beside a table of lines: ids and something that a reviewer or the device said of the record."""
    return "record_id" in found and "dx" not in found and bool(set(found) & {"rhythm", "vrate", "age", "sex"})


def _signals(folder: Path) -> Path | None:
    packed = sorted(folder.rglob("*.npz"))
    arrays = sorted({path.parent for path in folder.rglob("*.npy")})
    records = sorted({path.parent for path in folder.rglob("*.hea")})
    found = [*packed, *arrays[:1], *records[:1]]
    if len(packed) > 1 or len(found) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path in found)
        raise UsageError(
            f"{folder}: found signals in {names}; expected them in one place",
            f"name it as signals in {MANIFEST}",
        )
    if packed:
        return packed[0]
    return folder if arrays or records else None
