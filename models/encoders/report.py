"""What became of every key of a checkpoint, for reading and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from models.encoders.contents import Source
from models.encoders.keys import Match, shown
from models.encoders.stubs import needless


@dataclass
class Report:
    """``parameters``: how many numbers of the encoder's parameters come from the file; ``fits``: encoders whose keys
    are the file's, looked for when this one's are not; ``refused``: why the encoder did not take the configuration."""

    encoder: str
    source: Source
    match: Match
    parameters: int = 0
    fits: list[str] = field(default_factory=list)
    refused: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """All keys are accounted for, and the weights are in the encoder."""
        return self.match.whole and self.refused is None

    def faults(self) -> list[str]:
        """Why nothing was loaded; empty when the file was."""
        faults = self.match.faults() + ([self.refused] if self.refused else [])
        if faults and self.fits:
            faults.append(f"its keys are those of {' or '.join(self.fits)}")
        return faults

    def as_json(self) -> dict[str, Any]:
        found, used = self.match, set(self.match.used)
        return {
            "encoder": self.encoder,
            "ok": self.ok,
            "file": str(self.source.path),
            "bytes": self.source.size,
            "sha256": self.source.sha256,
            "format": self.source.form,
            "reader": self.source.reader,
            "container": found.container,
            "keys_in_file": found.in_file,
            "parameters": self.parameters,
            "used": found.used,
            "renamed": {origin: name for name, origin in sorted(found.renamed.items()) if name in used},
            "dropped": found.dropped,
            "lacking": found.lacking,
            "filled": found.filled,
            "casts": found.casts,
            "missing": found.missing,
            "unexpected": found.unexpected,
            "collisions": found.collisions,
            "shapes": {
                key: {"found": there, "expected": here} for key, (there, here) in found.shapes.items()
            },
            "kinds": {key: {"found": there, "expected": here} for key, (there, here) in found.kinds.items()},
            "unequal": found.unequal,
            "not_finite": found.not_finite,
            "faults": self.faults(),
            "fits": self.fits,
            "stubs": list(self.source.stubs),
            "notes": self.notes,
        }

    def as_text(self) -> str:
        found, used = self.match, set(self.match.used)
        place = "the file itself" if found.container == "" else found.container
        lines = [
            f"{self.source.path}: "
            + (
                f"loads whole as {self.encoder}"
                if self.ok
                else f"does not load as {self.encoder}; nothing was loaded"
            ),
            *self._warnings(),
            f"  sha256      {self.source.sha256}",
            f"  form        {self.source.form}, {self.source.size:,} bytes, read by: {self.source.reader}",
        ]
        if found.container is not None:
            lines.append(f"  keys        {found.in_file:,} in {place}, {len(found.used):,} used")
        if self.ok:
            lines.append(f"  parameters  {self.parameters:,} loaded")
        lines += [
            f"  dropped     {len(keys):,} by {rule}: {shown(keys)}" for rule, keys in found.dropped.items()
        ]
        named = (
            ("renamed", sorted(origin for name, origin in found.renamed.items() if name in used)),
            ("lacking", [f"{key} (keeps its random values)" for key in found.lacking]),
            ("filled", [f"{key} (from {twin})" for key, twin in found.filled.items()]),
            ("cast", [f"{cast} ({len(keys):,} keys)" for cast, keys in found.casts.items()]),
            ("not run", list(self.source.stubs)),
        )
        lines += [f"  {word:<10}  {len(each):,}: {shown(each)}" for word, each in named if each]
        lines += [f"  note        {note}" for note in self.notes]
        lines += [f"  fault       {fault}" for fault in self.faults()]
        return "\n".join(lines)

    def _warnings(self) -> list[str]:
        names = needless(self.source.stubs)
        word = "a function" if len(names) == 1 else "functions"
        return (
            [f"  WARNING     names {word} that no checkpoint needs: {shown(names)}; not run"] if names else []
        )
