"""A published checkpoint into an encoder: by its card's rules, every key accounted for, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from models import encoders
from models.encoders.card import Card, EncoderError
from models.encoders.contents import Contents, read
from models.encoders.keys import Match, look_at_values, look_for_beginning, match
from models.encoders.report import Report

if TYPE_CHECKING:
    from models.encoders.contract import Encoder


def load(encoder: Encoder, path: Path, card: Card) -> Report:
    """`check`, and EncoderError with every fault when the file is not the encoder's."""
    report = check(encoder, path, card)
    if not report.ok:
        faults = "\n".join(f"  - {fault}" for fault in report.faults())
        raise EncoderError(f"{path}: does not load as {card.name}; nothing was loaded\n{faults}")
    return report


def check(encoder: Encoder, path: Path, card: Card) -> Report:
    """Loads the file when it is the encoder's; else the encoder keeps its weights and the report says why.

    EncoderError for a file that cannot be read. A configuration in the file is given to the encoder before its
    weights (`Encoder.configure_from`), and None where it has none.
    """
    contents = read(Path(path))
    found = match(contents.tree, card.rules, encoder.state_module)
    if found.whole:
        look_at_values(found, encoder.state_module)
    report = Report(card.name, contents.source, found, notes=list(contents.source.notes))
    if found.whole:
        _configure(encoder, contents, report)
    else:
        look_for_beginning(found, contents.tree, card.rules, encoder.state_module)
        report.fits = fitting(contents, found, card)
    if report.ok:
        _fill(encoder, found)
        report.parameters = _count(encoder, found)
    found.release()
    return report


def _configure(encoder: Encoder, contents: Contents, report: Report) -> None:
    try:
        name, config = contents.configuration() or (None, None)
        lines = encoder.configure_from(config)
        report.notes += [f"{name}: {line}" if name else line for line in lines]
    except EncoderError as error:
        report.refused = str(error)


def _fill(encoder: Encoder, found: Match) -> None:
    """Strictly; what the file may lack keeps the value that it has."""
    module = encoder.state_module
    state = {**module.state_dict(), **found.weights}
    state |= {key: found.weights[twin] for key, twin in found.filled.items()}
    module.load_state_dict(state, strict=True)


def _count(encoder: Encoder, found: Match) -> int:
    parameters = dict(encoder.state_module.named_parameters(remove_duplicate=False))
    loaded = {id(each): each.numel() for key in found.used if (each := parameters.get(key)) is not None}
    return sum(loaded.values())


def fitting(contents: Contents, found: Match, card: Card) -> list[str]:
    """Names of the encoders whose keys the file has: those whole, else those with the most keys if that is more than
    the card's own and more than half. They are made on the meta device, without memory or values."""
    if found.container is not None and not (found.missing or found.unexpected or found.shapes or found.kinds):
        return []
    shares: dict[str, float] = {}
    for name in encoders.names():
        if name == card.name:
            continue
        try:
            other = encoders.card(name)
            with torch.device("meta"):
                module = encoders.build(other).state_module
            shares[name] = _share(match(contents.tree, other.rules, module))
        except Exception:  # an encoder of somebody's that cannot be made here says nothing about this file
            continue
    best = max(shares.values(), default=0.0)
    if best <= max(0.5, _share(found)):
        return []
    return [name for name, share in shares.items() if share == best]


def _share(found: Match) -> float:
    """1 for a file that fits whole; below, how many of all keys on both sides have a counterpart."""
    if found.container is None:
        return 0.0
    if found.whole:
        return 1.0
    alike = len(found.used) + len(found.filled)
    dropped = sum(map(len, found.dropped.values()))
    others = len(found.missing) + len(found.unexpected) + len(found.shapes) + len(found.kinds) + dropped
    return min(0.99, alike / (alike + others))
