"""imgaug 0.4.0 on NumPy 2: its last release (of February 2020) reads ``np.sctypes`` when it is imported, which is gone.

Import imgaug through here and nowhere else. The table is there for the length of that import only.
"""

from __future__ import annotations

import warnings
from functools import cache
from types import ModuleType

import numpy as np

from pipelines.render.opencv import cv2  # noqa: F401  imgaug imports it too; ours sets one thread
from warehouse.errors import UsageError

_SCTYPES = {
    "int": [np.int8, np.int16, np.int32, np.int64],
    "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
    "float": [np.float16, np.float32, np.float64, np.longdouble],
}


@cache
def load_imgaug() -> ModuleType:
    """imgaug with its augmenters. Raises UsageError where it is not installed."""
    lent = not hasattr(np, "sctypes")
    if lent:
        np.sctypes = _SCTYPES
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import imgaug
            import imgaug.augmenters
            import imgaug.random
    except ModuleNotFoundError as error:
        raise UsageError(
            f"augmenter imgaug: {error.name} is not installed; expected imgaug 0.4.0",
            "install the extra `imgaug`, or leave --augmenter away: the default gives the same bytes",
        ) from error
    finally:
        if lent:
            del np.sctypes
    return imgaug
