"""Ten seconds of twelve leads: what a page needs, and why a record gives none.

Lead names in any case, eight leads completed by :func:`warehouse.leads.complete`, a record cut into its pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from pipelines.render.settings import PAGE_SECONDS
from warehouse.errors import InputError, Problem
from warehouse.leads import LEADS, complete, standard_name

LEAST_HZ, MOST_HZ = 20.0, 20_000.0


class NoPage(InputError):
    """A record that no page can be printed of. ``reason`` is one word for a table, the message says it whole.

    ===============  =================================================================================
    ``leads``        a lead of the twelve is missing and cannot be derived, or there twice
    ``shape``        a lead is no row of numbers, or leads differ in length
    ``rate``         the sampling rate is no number from 20 to 20,000 Hz
    ``short``        less than ten seconds
    ``long``         more than ten seconds where one page is asked for
    ``infinite``     a value is infinite
    ``no_signal``    every value of every lead is missing
    ===============  =================================================================================
    """

    def __init__(self, reason: str, found: str, expected: str, next_step: str | None = None) -> None:
        self.reason = reason
        super().__init__("no page of this record", [Problem("record", found, expected)], next_step)


def pages(leads: Mapping[str, np.ndarray], hz: float) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """Cut a record into pages: the second at which each begins, and its twelve leads.

    ``leads``: name → (n,) mV, NaN = missing. What is left after the last whole ten seconds gets no page, as with the
    generator. Raises NoPage before the first page when there is none, and at the page whose values cannot be drawn.
    """
    for begin, piece in pieces(leads, hz):
        _check_values(piece)
        yield begin, piece


def pieces(leads: Mapping[str, np.ndarray], hz: float) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """The same, whatever their values: a page without any is for the printer to refuse, and costs no other."""
    twelve = _twelve(leads, hz)
    length = len(twelve["I"])
    begins = range(0, math.floor(length / hz + 1e-9) - PAGE_SECONDS + 1, PAGE_SECONDS)
    if not begins:
        raise NoPage("short", f"{length / hz:g} s", f"at least {PAGE_SECONDS} s")
    for begin in begins:
        first = first_sample(begin, hz)
        yield begin, {lead: values[first : first + samples_on_page(hz)] for lead, values in twelve.items()}


def one_page(leads: Mapping[str, np.ndarray], hz: float) -> dict[str, np.ndarray]:
    """The twelve leads, (n,) float64 mV each, of a record of ten seconds. Raises NoPage."""
    twelve = _twelve(leads, hz)
    found, wanted = len(twelve["I"]), samples_on_page(hz)
    if found != wanted:
        reason = "short" if found < wanted else "long"
        step = None if reason == "short" else "cut the record with pages()"
        raise NoPage(reason, f"{found:,} samples", f"{wanted:,}: {PAGE_SECONDS} s at {hz:g} Hz", step)
    _check_values(twelve)
    return twelve


def first_sample(second: float, hz: float) -> int:
    """The first sample that is not before ``second``."""
    return math.ceil(second * hz - 1e-6)


def samples_on_page(hz: float) -> int:
    """Samples of ten seconds."""
    return math.floor(PAGE_SECONDS * hz + 1e-6)


def _twelve(leads: Mapping[str, np.ndarray], hz: float) -> dict[str, np.ndarray]:
    if not isinstance(hz, int | float | np.number) or not LEAST_HZ <= hz <= MOST_HZ:
        raise NoPage("rate", f"{hz!r} Hz", f"{LEAST_HZ:g} to {MOST_HZ:,.0f} Hz")
    named: dict[str, np.ndarray] = {}
    for name, values in leads.items():
        lead = standard_name(name)
        if lead in LEADS:
            if lead in named:
                raise NoPage("leads", f"lead {lead} twice", "each lead once")
            named[lead] = _row(lead, values)
    lengths = {len(values) for values in named.values()}
    if len(lengths) > 1:
        each = ", ".join(f"{lead} {len(values):,}" for lead, values in named.items())
        raise NoPage("shape", f"leads of different length: {each} samples", "one length")
    twelve = complete(named)
    missing = [lead for lead in LEADS if lead not in twelve]
    if missing:
        found = f"leads {', '.join(leads) or 'none'} (without {', '.join(missing)})"
        raise NoPage("leads", found, "the twelve leads, or I, II and V1–V6")
    return twelve


def _row(lead: str, values: np.ndarray) -> np.ndarray:
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise NoPage("shape", f"lead {lead} holds no numbers", "values in mV") from None
    if row.ndim != 1:
        raise NoPage("shape", f"lead {lead} of shape {row.shape}", "(samples,)")
    return row


def _check_values(twelve: Mapping[str, np.ndarray]) -> None:
    infinite = [lead for lead, values in twelve.items() if np.isinf(values).any()]
    if infinite:
        raise NoPage("infinite", f"infinite values in {', '.join(infinite)}", "numbers, or NaN where missing")
    if all(np.isnan(values).all() for values in twelve.values()):
        raise NoPage("no_signal", "no value in any lead", "a signal")
