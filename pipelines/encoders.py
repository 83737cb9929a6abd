"""The verbs on encoders: models/ knows no exit codes, here its errors become ours.

Importing this does not import torch: the list needs none, and a check says what is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from models import encoders
from models.encoders import listing
from warehouse.errors import InputError, LeadhouseError, UsageError

if TYPE_CHECKING:
    from models.encoders.report import Report


def listed() -> list[listing.Listed]:
    """Every encoder of the registry. UsageError where the registry cannot be read."""
    with _errors_are(UsageError):
        return listing.listed()


def check(name: str, file: Path | None = None) -> Report:
    """What became of every key of ``file``, or of the card's own checkpoint, in the encoder ``name``.

    UsageError for an encoder or a file that is not there, or a package that is not installed; InputError for a file
    that cannot be read. A file that does not fit is no error here: the report says so.
    """
    with _errors_are(UsageError):
        card = encoders.card(name)
        path = file or card.checkpoint()
        if path is None or not path.exists():
            looked = str(file or listing.looked_for(card) or "and its card names none")
            raise UsageError(
                f"{name}: found no checkpoint, {listing.absent(looked, card.url)}",
                "give FILE, or put it there",
            )
        encoder = encoders.build(card)
    with _errors_are(InputError):
        from models.encoders import checkpoint

        return checkpoint.check(encoder, path, card)


@contextmanager
def _errors_are(kind: type[LeadhouseError]) -> Iterator[None]:
    """Those of models/ become ``kind``, or wrong usage where a package is not installed."""
    try:
        yield
    except encoders.EncoderError as error:
        raise (UsageError if isinstance(error.__cause__, ImportError) else kind)(str(error)) from error
