"""Numbers in text files, as Arrow reads them: ASCII digits, no underscores, within what a column holds.

Python's own ``int`` and ``float`` also take ``1_2`` and digits of other scripts, and know no bound.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LARGEST_WHOLE = 2**31 - 1
"""Ids and counts are int32."""
LATEST_S = 1e7
"""Ours: 116 days after the recording's begin, where the last row of the real files is at 34,767 s. Samples at
500 Hz and segments of 5 s then have small numbers too."""
WHOLE_IN_RANGE = f"a whole number from 0 to {LARGEST_WHOLE}"
SECONDS_IN_RANGE = f"a number of seconds from 0 to {LATEST_S:.0f}"
SHOWN = 60

_WHOLE = re.compile(r"\+?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(text: str) -> int | None:
    """An id or a count; None for anything else."""
    text = text.strip(" \t")
    value = int(text) if _WHOLE.fullmatch(text) else LARGEST_WHOLE + 1
    return value if value <= LARGEST_WHOLE else None


def wholes(texts: Sequence[str]) -> list[int | None]:
    """:func:`whole` of every text, a column at once where all of them are plain digits."""
    digits = "".join(texts)
    plain = digits.isascii() and all(map(str.isdigit, texts)) and max(map(len, texts), default=0) < 10
    return list(map(int, texts)) if plain else list(map(whole, texts))


def seconds(text: str) -> float | None:
    """A time in a recording; None for anything else."""
    text = text.strip(" \t")
    value = float(text) if _NUMBER.fullmatch(text) else -1.0
    return value if 0 <= value <= LATEST_S else None


def quoted(text: str) -> str:
    """A field for a message, cut where it is long."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}… ({len(text):,} characters)"
