"""Where the SQL and the declarations live: the checkout's own folders, or the copy inside an installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def project_root() -> Path:
    """The folder that holds ``sql/`` and ``registry/``."""
    checkout = _HERE.parent
    return checkout if (checkout / "sql").is_dir() else _HERE / "_project"


def sql_root() -> Path:
    return project_root() / "sql"


def registry_path(*parts: str) -> Path:
    """A path below ``registry/``, for instance ``registry_path("maps", "vitaldb_rhythm.csv")``."""
    return project_root().joinpath("registry", *parts)
