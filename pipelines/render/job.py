"""What is asked of a render: page, augmentation and format, as one value that says when two images are made alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipelines.render.draws import PUBLISHED_AUGMENT, SEED_PREFIX, AugmentSettings, Draws, draw
from pipelines.render.geometry import Geometry
from pipelines.render.settings import PUBLISHED, PageSettings
from warehouse.errors import UsageError
from warehouse.spec import Spec

JPEG, PNG = "jpeg", "png"
SUFFIXES = {JPEG: ".jpg", PNG: ".png"}
FUSED, IMGAUG = "fused", "imgaug"
AUGMENTERS = (FUSED, IMGAUG)


@dataclass(frozen=True)
class ImageSettings:
    """Everything that decides an image's bytes apart from the record and its seed. The defaults are the published ones.

    ``plain``: the page as printed, without noise, crop and light. Raises UsageError for an unknown word.
    """

    page: PageSettings = PUBLISHED
    augment: AugmentSettings = PUBLISHED_AUGMENT
    plain: bool = False
    format: str = JPEG
    quality: int = 90
    augmenter: str = FUSED
    seed_prefix: int = SEED_PREFIX

    def __post_init__(self) -> None:
        for name, known in (("format", tuple(SUFFIXES)), ("augmenter", AUGMENTERS)):
            if getattr(self, name) not in known:
                raise UsageError(f"{name}: found {getattr(self, name)!r}; expected {' or '.join(known)}")
        if not 1 <= self.quality <= 100:
            raise UsageError(f"quality: found {self.quality}; expected 1 to 100")

    @property
    def suffix(self) -> str:
        return SUFFIXES[self.format]

    def as_dict(self) -> dict[str, Any]:
        """For manifests; what has no effect is left out."""
        found: dict[str, Any] = {"format": self.format, "seed_prefix": self.seed_prefix, "plain": self.plain}
        if self.format == JPEG:
            found["quality"] = self.quality
        if not self.plain:
            found |= {"augmenter": self.augmenter, "augment": self.augment.as_dict()}
        return found | {"page": self.page.as_dict()}


def settings_for(spec: Spec, **other: Any) -> ImageSettings:
    """The published settings of a task, or others by name. Raises UsageError for a task that is not of images."""
    declared = spec.data.get("input", {})
    if "image" not in declared or "render" not in declared:
        raise UsageError(f"{spec.name}: found a task without images; expected one whose spec has input.image")
    own = {
        "format": declared["image"]["stored_as"].lower(),
        "quality": declared["image"]["quality"],
        "seed_prefix": declared["render"]["seed_prefix"],
    }
    return ImageSettings(**own | other)


@dataclass(frozen=True)
class Image:
    """One drawn image: its file's bytes, what was drawn for it, where everything lies on it."""

    data: bytes
    draws: Draws
    geometry: Geometry


def make_image(leads: Mapping[str, np.ndarray], hz: float, seed: int, settings: ImageSettings) -> Image:
    """Draw, augment and encode ten seconds of a record (mV) with this seed. Raises NoPage."""
    from pipelines.render.page import draw_page

    draws = draw(seed, settings.augment, settings.plain)
    page = draw_page(leads, hz, draws.grey, settings.page)
    pixels, geometry = page.pixels, page.geometry
    if not settings.plain:
        pixels, to_image = augmenter(settings.augmenter)(pixels, draws, out=pixels)
        geometry = geometry.mapped(to_image)
    return Image(encode(pixels, settings), draws, geometry)


def augmenter(name: str):
    """The augmentation by its name. Raises UsageError where the reference path is not installed."""
    if name == IMGAUG:
        from pipelines.render.imgaug_reference import augment
    else:
        from pipelines.render.augment import augment
    return augment


def encode(pixels: np.ndarray, settings: ImageSettings) -> bytes:
    """The file of (H, W, 3) uint8 RGB pixels."""
    from pipelines.render import jpeg

    return jpeg.encode(pixels, settings.quality) if settings.format == JPEG else jpeg.encode_png(pixels)


def settings_digest(settings: Mapping[str, Any]) -> str:
    """First 12 hex digits of sha256 over the settings as JSON, keys sorted."""
    text = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Every setting that is another one, in words."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    names = [
        name for name in (*old, *(name for name in new if name not in old)) if old.get(name) != new.get(name)
    ]
    return [f"{name} {_word(old.get(name))} there, {_word(new.get(name))} asked" for name in names]


def _leaves(data: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _word(value: Any) -> str:
    return "none" if value is None else json.dumps(value)
