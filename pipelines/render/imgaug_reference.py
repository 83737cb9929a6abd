"""The same augmentation through imgaug 0.4.0, as the generator calls it: what the default path is compared with.

Needs the extra ``imgaug``, which brings OpenCV with windows. imgaug's global generator is put back as it was.
"""

from __future__ import annotations

import numpy as np

from pipelines.render.augment import geometry_map, laid_on
from pipelines.render.draws import Draws
from pipelines.render.imgaug_compat import load_imgaug


def augment(pixels: np.ndarray, draws: Draws, out: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`pipelines.render.augment.augment`: uint8 (H, W, 3) RGB and draws to the same, and the map.

    Raises UsageError where imgaug is not installed.
    """
    imgaug = load_imgaug()
    stream = imgaug.random.get_global_rng()
    before = stream.state
    try:
        imgaug.seed(draws.seed)
        augmenters = imgaug.augmenters.Sequential(
            [
                imgaug.augmenters.Affine(rotate=draws.rotation),
                imgaug.augmenters.AdditiveGaussianNoise(scale=(draws.noise, draws.noise)),
                imgaug.augmenters.Crop(percent=draws.crop),
                imgaug.augmenters.ChangeColorTemperature(draws.temperature),
            ]
        )
        scanned = augmenters(images=[laid_on(pixels, draws)])[0]
    finally:
        imgaug.random.get_global_rng().state = before
    if out is not None:
        np.copyto(out, scanned)
        scanned = out
    return scanned, geometry_map(*pixels.shape[:2], draws)
