"""Where the SQL and the declarations live: the checkout's own folders, or the copy inside an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def project_root() -> Path:
    """The folder that holds ``sql/`` and ``registry/``."""
    installed = _HERE / "_project"
    return installed if installed.is_dir() else _HERE.parent


def sql_root() -> Path:
    return project_root() / "sql"


def registry_path(*parts: str) -> Path:
    """A path below ``registry/``, for instance ``registry_path("maps", "vitaldb_rhythm.csv")``."""
    return project_root().joinpath("registry", *parts)
