"""The twelve leads of a standard ECG, and the four of them that two others give.

Releases that keep eight leads leave out what can be computed: by Einthoven's law III = II − I, and Goldberger's
augmented leads are aVR = −(I + II) / 2, aVL = I − II / 2, aVF = II − I / 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LEADS = ("I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6")
"""All twelve, in the usual order."""
DERIVED = {"III": (-1.0, 1.0), "aVR": (-0.5, -0.5), "aVL": (1.0, -0.5), "aVF": (-0.5, 1.0)}
"""Lead → its share of I and of II. Halves and ones are exact in binary, so the order of the steps is of no account."""

_NAMES = {lead.upper(): lead for lead in LEADS}


def standard_name(lead: str) -> str:
    """``AVR``, ``avr`` and ``aVR`` are one lead; a name that is none of the twelve stays as it is."""
    return _NAMES.get(lead.strip().upper(), lead.strip())


def complete(leads: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """``leads`` with those of the four that are not in it, where I and II are; the result has the usual order.

    Values are floats of one unit. What is missing (NaN) in I or II is missing in the derived lead too.
    """
    found = dict(leads)
    if "I" in leads and "II" in leads:
        for lead, (first, second) in DERIVED.items():
            if lead not in leads:
                found[lead] = first * leads["I"] + second * leads["II"]
    rest = [lead for lead in found if lead not in LEADS]
    return {lead: found[lead] for lead in (*LEADS, *rest) if lead in found}
