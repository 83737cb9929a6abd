"""The encoders of the registry: what each takes and gives, and where its checkpoint is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from models.encoders import kind
from models.encoders.card import ROOTS, Card, EncoderError, card, folder, names


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
    citation: str
    pretrained_on: list[str]
    notes: list[str]
    fault: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def as_text(self) -> str:
        if not self.title:
            return f"{self.name}: {self.fault}"
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
        if self.pretrained_on:
            lines.append(f"  trained on  {'; '.join(self.pretrained_on)}")
        return "\n".join(lines + ([f"  licence     {self.licence}"] if self.licence else []))

    def _place(self) -> str:
        if self.checkpoint:
            return self.checkpoint
        if not self.looked_for:
            return "none is needed"
        return f"not found: {absent(self.looked_for, self.url)}"


def listed() -> list[Listed]:
    """Every card by name; a card or a class that is broken has a ``fault`` and hides no other."""
    return [_listed(name) for name in names()]


def looked_for(card: Card) -> str | None:
    """The path of a checkpoint under the first root that the environment names; with the variable where none is set."""
    if card.file is None:
        return None
    return next(map(str, card.looked_for()), f"${ROOTS[0]}/{card.file}")


def absent(looked_for: str, url: str | None) -> str:
    """In words: where a checkpoint that is not there belongs, and where the authors have it."""
    unset = ", which is not set" if looked_for.startswith("$") else ""
    return f"{looked_for}{unset}" + (f"; from {url}" if url else "")


def _listed(name: str) -> Listed:
    try:
        found = card(name)
    except EncoderError as error:
        found, fault, declared = Card(name, "", "", folder() / f"{name}.json"), str(error), {}
    else:
        fault, declared = _declared(found)
    file = found.checkpoint()
    return Listed(
        name=name,
        title=found.title,
        chunk_seconds=declared.get("chunk_seconds"),
        model_fs=declared.get("model_fs"),
        feature_dim=declared.get("feature_dim"),
        leads=declared.get("leads"),
        parameters=found.parameters,
        checkpoint=str(file) if file else None,
        looked_for=looked_for(found),
        url=found.url,
        licence=found.licence,
        citation=found.citation,
        pretrained_on=list(found.pretrained_on),
        notes=list(found.notes),
        fault=fault,
    )


def _declared(found: Card) -> tuple[str | None, dict[str, Any]]:
    """What is wrong with the class of a card, and what it declares when nothing is."""
    try:
        declared = kind(found)
        from models.encoders.contract import declaration

        return None, declaration(declared)
    except EncoderError as error:
        missing = getattr(error.__cause__, "name", None)
        return (f"needs {missing} (the extra `train`)" if missing in ("torch", "scipy") else str(error)), {}
