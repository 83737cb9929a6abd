"""What JSON output promises: every answer names its schema, ``registry/json/<name>-v<N>.json``.

A key that a schema names stays, with its type and its meaning, as long as the version does. A reader must pass over
keys that it does not know. Any change of a schema is a new file with the next number; ``registry/json/lock.json``
holds the digest of each, and a test fails when one moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CONTRACTS = {
    "bundle": 1,
    "counts": 1,
    "diff": 1,
    "encoders": 1,
    "encoders-check": 1,
    "export": 1,
    "materialize": 1,
    "materialize-check": 1,
    "whatif": 1,
    "why": 1,
}
"""Name → the version that is written today."""


def schema_name(name: str) -> str:
    """``leadhouse/counts/1``."""
    return f"leadhouse/{name}/{CONTRACTS[name]}"


def stamped(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with its schema's name before all else."""
    return {"schema": schema_name(name), **answer}
