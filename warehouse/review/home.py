"""Whether a home holds verdicts, without the modules that read them."""

from __future__ import annotations

from warehouse.home import Home

DATASET = "review"


def has_verdicts(home: Home) -> bool:
    """Whether anybody has reviewed anything here; costs one look at the disk."""
    return (home.raw / DATASET / "_load.json").is_file()
