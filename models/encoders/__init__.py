"""ECG foundation encoders: twelve leads in, a sequence of features and their pool out.

One file here and one card in ``registry/encoders/`` make an encoder; ``create`` finds both by the name. Importing this
package does not import torch.
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.encoders.card import ROOTS, Card, EncoderError, card, names

if TYPE_CHECKING:
    from models.encoders.contract import Encoder

__all__ = ["Card", "EncoderError", "build", "card", "create", "kind", "names"]


def create(
    name: str,
    *,
    checkpoint: str | Path | bool | None = None,
    parity: bool = False,
    resample: str | None = None,
    nan: str | None = None,
) -> Encoder:
    """The encoder of a card, in eval mode; random weights without a ``checkpoint``.

    ``checkpoint``: a file that is loaded by the card's rules, every key accounted for; True is the card's own below the
    folder that ``$LEADHOUSE_CHECKPOINTS`` (or ``$ECG_CKPT_ROOT``) names. ``resample``: ``band_limited``
    (the default) or ``linear``; ``nan``: ``error`` (the default) or ``zero``, a fill that is counted. ``parity`` is
    linear, zero and, without ``fs``, any length for a window, as the benchmark's own adapters have it. EncoderError
    for an unknown name, a class that cannot be made, or a checkpoint that does not load whole.
    """
    found = card(name)
    if checkpoint is True:
        checkpoint = found.checkpoint()
        if checkpoint is None:
            looked = " or ".join(map(str, found.looked_for())) or f"a folder that ${ROOTS[0]} names"
            raise EncoderError(
                f"encoder {name}: found no checkpoint; expected {found.file or 'a file'} in {looked}"
            )
    elif not (checkpoint is None or isinstance(checkpoint, (str, Path))):
        raise EncoderError(
            f"checkpoint: found {checkpoint!r}; expected a path, or True for the one under the root"
        )
    encoder = build(found)
    encoder.configure(parity=parity, resample=resample, nan=nan)
    if checkpoint is not None:
        from models.encoders.checkpoint import load

        load(encoder, Path(checkpoint), found)
    elif (lies := found.checkpoint()) is not None:
        warnings.warn(f"encoder {name} has random weights; checkpoint=True loads {lies}", stacklevel=2)
    return encoder.eval()


def kind(found: Card) -> Any:
    """The class that a card names. EncoderError for one that cannot be imported, whatever the file does."""
    module, _, class_name = found.entry.partition(":")
    try:
        return getattr(importlib.import_module(module), class_name)
    except Exception as error:
        if getattr(error, "name", None) in ("torch", "scipy"):
            raise EncoderError(
                f"encoder {found.name} needs {error.name}: install the extra `train`"
            ) from error
        raise EncoderError(
            f"{found.path}: found class {found.entry!r}, which cannot be imported ({type(error).__name__}: {error}); "
            "expected <module>:<class> of a torch module"
        ) from error


def build(found: Card) -> Encoder:
    """The encoder of a card with random weights, as its class makes it. EncoderError where it cannot be made."""
    made = kind(found)

    from models.encoders.contract import Encoder, adopt, hold_made

    try:
        made = made(**found.options)
    except EncoderError:
        raise
    except Exception as error:
        options = f" with the options {found.options}" if found.options else ""
        raise EncoderError(
            f"{found.path}: {found.entry} cannot be made{options} ({type(error).__name__}: {error})"
        ) from error
    if isinstance(made, Encoder):
        hold_made(made)
    encoder = made if isinstance(made, Encoder) else adopt(made)
    encoder.name = found.name
    return encoder
