"""One WFDB annotation file as rows, and the wfdb package that reads it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

END_MARK = b"\0\0"
"""What closes an annotation file."""


@dataclass(frozen=True)
class Annotations:
    """The rows of one annotation file, in its order; texts and numbers (n,)."""

    annotator: str
    file: str
    sample: np.ndarray
    symbol: list[str]
    subtype: np.ndarray
    chan: np.ndarray
    num: np.ndarray
    aux: list[str]


@cache
def the_wfdb():
    """The wfdb package, without what it says about itself on pandas 3."""
    warnings.filterwarnings("ignore", module=r"wfdb(\.|$)")
    import wfdb

    return wfdb


def read_annotations(path: Path) -> Annotations:
    """Every annotation of ``<record>.<annotator>``, in file order. Raises whatever wfdb meets."""
    base, annotator = str(path.with_name(path.stem)), path.suffix.removeprefix(".")
    read = the_wfdb().rdann(base, annotator, return_label_elements=["label_store"])
    return Annotations(
        annotator,
        path.name,
        read.sample,
        _symbols(read, base, annotator),
        *(np.asarray(values, np.int32) for values in (read.subtype, read.chan, read.num)),
        [(note or "").rstrip("\0") for note in read.aux_note],
    )


def said(error: Exception) -> str:
    """An error of wfdb's in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _symbols(read, base: str, annotator: str) -> list[str]:
    """The symbol of every annotation; a code without one becomes ``[code]``."""
    wfdb = the_wfdb()
    known = {label.label_store: label.symbol for label in wfdb.io.annotation.ann_labels}
    if read.custom_labels is not None:
        custom = wfdb.rdann(base, annotator, return_label_elements=["label_store", "symbol"])
        known |= dict(zip(custom.label_store.tolist(), custom.symbol, strict=True))
    codes = read.label_store.tolist()
    texts = {code: known.get(code) for code in set(codes)}
    return [texts[code] if isinstance(texts[code], str) else f"[{code}]" for code in codes]
