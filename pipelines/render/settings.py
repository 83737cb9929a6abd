"""How a page is printed: what the published task pins, and what may be set otherwise.

`PUBLISHED` is the page of ``lydus-ecg-image@0`` and ``cinc2024-ptbxl-image@0``: the Challenge generator's 3 × 4 with
a strip of lead II on letter paper, 200 dpi, 25 mm/s, 10 mm/mV, red grid.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from warehouse.errors import UsageError
from warehouse.leads import LEADS

PAGE_SECONDS = 10
WIDTH_IN, HEIGHT_IN = 11.0, 8.5
"""Letter paper, landscape."""
USUAL_SPEED = 25.0
MM_PER_INCH = 25.4
BLACK_AND_WHITE = "bw"

LAYOUTS = {
    "3x4": (("I", "aVR", "V1", "V4"), ("II", "aVL", "V2", "V5"), ("III", "aVF", "V3", "V6")),
    "6x2": (("I", "V1"), ("II", "V2"), ("III", "V3"), ("aVR", "V4"), ("aVL", "V5"), ("aVF", "V6")),
    "12x1": tuple((lead,) for lead in LEADS),
}
"""Name → rows from top to bottom, each from left to right; a column shows its share of the ten seconds."""

PALETTES = {
    "1": ((0.4274, 0.196, 0.1843), (0.5882, 0.4196, 0.396)),
    "2": ((1.0, 0.796, 0.866), (0.996, 0.9294, 0.9725)),
    "3": ((0.0, 0.0, 0.4), (0.0, 0.0, 0.7)),
    "4": ((0.0, 0.3, 0.0), (0.0, 0.8, 0.3)),
    "5": ((1.0, 0.0, 0.0), (0.996, 0.8745, 0.8588)),
    BLACK_AND_WHITE: ((0.4, 0.4, 0.4), (0.75, 0.75, 0.75)),
}
"""Name → colour of the 5-mm and of the 1-mm lines, as the generator numbers them: brown, pink, blue, green, red."""

_RANGES = {"dpi": (50, 600), "paper_mm_per_s": (5, 100), "gain_mm_per_mv": (1, 100)}


@dataclass(frozen=True)
class PageSettings:
    """All that decides how a page looks, apart from signal and trace grey.

    ``rhythm`` names the leads of the ten-second strips below the rows, from top to bottom. At more than 25 mm/s the
    paper is as much wider as ten seconds need. Raises UsageError for what no page can be printed with.
    """

    dpi: int = 200
    layout: str = "3x4"
    rhythm: tuple[str, ...] = ("II",)
    palette: str = "5"
    paper_mm_per_s: float = USUAL_SPEED
    gain_mm_per_mv: float = 10.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "palette", str(self.palette))
        object.__setattr__(self, "rhythm", tuple(self.rhythm))
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
                raise UsageError(f"page setting {name}: found {value!r}; expected {least} to {most}")
        if int(self.dpi) != self.dpi:
            raise UsageError(f"page setting dpi: found {self.dpi!r}; expected a whole number")
        object.__setattr__(self, "dpi", int(self.dpi))
        for name in ("paper_mm_per_s", "gain_mm_per_mv"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, known in (("layout", LAYOUTS), ("palette", PALETTES)):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"page setting {name}: found {getattr(self, name)!r}; expected one of {', '.join(known)}"
                )
        strange = [lead for lead in self.rhythm if lead not in LEADS]
        if strange or len(set(self.rhythm)) < len(self.rhythm):
            raise UsageError(
                f"page setting rhythm: found {', '.join(self.rhythm)}; expected different leads of {', '.join(LEADS)}"
            )

    @property
    def is_black_and_white(self) -> bool:
        """Then traces are black, whatever grey was drawn."""
        return self.palette == BLACK_AND_WHITE

    def as_dict(self) -> dict[str, Any]:
        """Every field, as JSON writes it."""
        return asdict(self) | {"rhythm": list(self.rhythm)}

    @property
    def digest(self) -> str:
        """First 12 hex digits of sha256 over `as_dict`: two pages are printed alike when it is the same."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


PUBLISHED = PageSettings()
