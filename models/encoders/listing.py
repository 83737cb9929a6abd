"""The encoders of the registry: what each takes and gives, and where its checkpoint is."""

from __future__ import annotations

import importlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from models.encoders.card import ROOTS, Card, card, names


@dataclass(frozen=True)
class Listed:
    """A card and what its class declares: window in seconds, samples a second, features, leads; None where the class
    cannot be imported, ``fault`` says why. ``checkpoint``: the file that was found; ``looked_for``: where."""

    name: str
    title: str
    chunk_seconds: float | None
    model_fs: int | None
    feature_dim: int | None
    leads: list[str] | None
    parameters: int | None
    checkpoint: str | None
    looked_for: str | None
    url: str | None
    licence: str
    fault: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self) -> str:
        takes = [self.fault] if self.fault else [f"{self.chunk_seconds:g} s at {self.model_fs} Hz"]
        if self.leads:
            takes.append(
                f"{len(self.leads)} leads" + (f" ({', '.join(self.leads)})" if len(self.leads) < 12 else "")
            )
        if self.feature_dim:
            takes.append(f"features of {self.feature_dim}")
        if self.parameters:
            takes.append(f"{self.parameters:,} parameters")
        lines = [
            f"{self.name}: {self.title}",
            f"  takes       {', '.join(takes)}",
            f"  checkpoint  {self._place()}",
        ]
        return "\n".join(lines + ([f"  licence     {self.licence}"] if self.licence else []))

    def _place(self) -> str:
        if self.checkpoint:
            return self.checkpoint
        if not self.looked_for:
            return "none is needed"
        unset = ", which is not set" if self.looked_for.startswith("$") else ""
        return f"not found: {self.looked_for}{unset}" + (f"; from {self.url}" if self.url else "")


def listed() -> list[Listed]:
    """Every card by name. EncoderError for a card that does not say what it must."""
    return [_listed(card(name)) for name in names()]


def looked_for(card: Card) -> str | None:
    """The path of a checkpoint under the first root that the environment names; with the variable where none is set."""
    if card.file is None:
        return None
    root = next((found for variable in ROOTS if (found := os.environ.get(variable))), None)
    return str(Path(root) / card.file) if root else f"${ROOTS[0]}/{card.file}"


def _listed(card: Card) -> Listed:
    fault, kind = _class(card)
    leads = getattr(kind, "leads", None)
    found = card.checkpoint()
    return Listed(
        name=card.name,
        title=card.title,
        chunk_seconds=getattr(kind, "chunk_seconds", None),
        model_fs=getattr(kind, "model_fs", None),
        feature_dim=getattr(kind, "feature_dim", None),
        leads=list(leads) if leads else None,
        parameters=card.parameters,
        checkpoint=str(found) if found else None,
        looked_for=looked_for(card),
        url=card.url,
        licence=card.licence,
        fault=fault,
    )


def _class(card: Card) -> tuple[str | None, Any]:
    module, _, name = card.entry.partition(":")
    try:
        return None, getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        if getattr(error, "name", None) in ("torch", "scipy"):
            return f"needs {error.name} (the extra `train`)", None
        return f"{card.entry} cannot be imported ({error})", None
