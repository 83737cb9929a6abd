"""ECG foundation encoders: twelve leads in, a sequence of features and their pool out.

One file here and one card in ``registry/encoders/`` make an encoder; ``create`` finds both by the name. Importing this
package does not import torch.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from models.encoders.card import Card, EncoderError, card, names

if TYPE_CHECKING:
    from models.encoders.contract import Encoder

__all__ = ["Card", "EncoderError", "card", "create", "names"]


def create(
    name: str,
    *,
    checkpoint: str | Path | None = None,
    parity: bool = False,
    resample: str | None = None,
    nan: str | None = None,
) -> Encoder:
    """The encoder of a card, in eval mode; random weights without a ``checkpoint``.

    ``checkpoint``: a file that is loaded by the card's rules, every key accounted for. ``resample``: ``band_limited``
    (the default) or ``linear``; ``nan``: ``error`` (the default) or ``zero``, a fill that is counted. ``parity`` is
    linear, zero and any length for a window, as the benchmark's own adapters have it. EncoderError for an unknown
    name or a checkpoint that does not load whole.
    """
    found = card(name)
    module, _, class_name = found.entry.partition(":")
    try:
        made = getattr(importlib.import_module(module), class_name)(**found.options)
    except (ImportError, AttributeError) as error:
        if getattr(error, "name", None) in ("torch", "scipy"):
            raise EncoderError(f"encoder {name} needs {error.name}: install the extra `train`") from error
        raise EncoderError(
            f"{found.path}: found class {found.entry!r}, which cannot be imported ({error}); "
            "expected <module>:<class> of a torch module"
        ) from error

    from models.encoders.contract import Encoder, adopt

    encoder = made if isinstance(made, Encoder) else adopt(made)
    encoder.name = name
    encoder.configure(parity=parity, resample=resample, nan=nan)
    if checkpoint is not None:
        from models.encoders.checkpoint import load

        load(encoder, Path(checkpoint), found)
    return encoder.eval()
