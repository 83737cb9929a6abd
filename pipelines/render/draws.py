"""The values that are drawn for an image, from its seed alone and in the generator's order.

The stream is Python's Mersenne Twister seeded with the record's seed (input.render.per_record of the spec). What
the generator draws and never uses (the font, the coin before the crop) is drawn as well, since it moves the stream.
No global generator is read or left changed. The generator's four Bernoulli draws from NumPy's global stream have
fixed outcomes at these settings and nothing else reads that stream, so they are left out.

==================  ===========  ==============================================================================
column              type         what it is
==================  ===========  ==============================================================================
``instance_id``     text         the image
``seed``            int          what Python's stream and the noise field start from
``font``            text         file name, drawn and not used: every page is printed in DejaVu Sans
``grey``            float        of traces, pulses and separators, 0 (black) to 0.2
``noise``           int, null    standard deviation of the Gaussian noise, counts of 0..255
``crop_coin``       bool, null   drawn and not used: every image is cropped
``warm``            bool, null   warm or cold light
``temperature``     int, null    colour temperature, K
``rotation``        int, null    degrees, clockwise as seen
``crop``            float, null  fraction cut from each side before the page is stretched to its size again
``crease_angle``    int, null    degrees; this and the next three only where wrinkles are on
``creases_down``    int, null    creases at a right angle to the next ones (the generator's "vertically")
``creases_across``  int, null    creases that rise to the right by ``crease_angle`` ("horizontally")
``texture``         int, null    which of the twenty wrinkle textures
==================  ===========  ==============================================================================

A plain image draws font and grey only; the rest is null.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from warehouse.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

SEED_PREFIX = 20261030
FONTS = (
    "Arial.ttf",
    "Arial_Bold.ttf",
    "Arial_Bold_Italic.ttf",
    "Arial_Italic.ttf",
    "Courier_New.ttf",
    "Times_New_Roman.ttf",
    "Verdana.ttf",
    "Verdana_Bold.ttf",
    "Verdana_Bold_Italic.ttf",
    "Verdana_Italic.ttf",
)
"""The generator's font files, sorted."""

GREY = 0.2
WARM_K = range(2000, 4000)
COLD_K = range(10000, 20000)
TEXTURES = range(1, 21)

_RANGES = {
    "noise_max": (1, 255),
    "crop": (0, 0.45),
    "rotate_deg": (0, 180),
    "crease_angle": (0, 90),
    "creases_down": (1, 100),
    "creases_across": (1, 100),
}


@dataclass(frozen=True)
class AugmentSettings:
    """What bounds the draws; the defaults are the published settings (input.render.settings of the spec).

    ``noise_max`` counts of 0..255, ``crop`` the largest fraction of a side, ``rotate_deg`` the largest angle
    either way, ``wrinkles`` whether creases and a wrinkle texture are laid on, the three after it their bounds.
    Raises UsageError for a value out of its range.
    """

    noise_max: int = 50
    crop: float = 0.01
    rotate_deg: int = 0
    wrinkles: bool = False
    crease_angle: int = 90
    creases_down: int = 10
    creases_across: int = 10

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            kind = float | int if name == "crop" else int
            if not isinstance(value, kind) or isinstance(value, bool) or not least <= value <= most:
                what = "" if name == "crop" else ", whole"
                raise UsageError(
                    f"augmentation setting {name}: found {value!r}; expected {least} to {most}{what}"
                )

    def as_dict(self) -> dict[str, Any]:
        """As manifests and digests of settings hold them."""
        return asdict(self)


PUBLISHED_AUGMENT = AugmentSettings()


@dataclass(frozen=True)
class Draws:
    """The drawn values of one image; the module's table says what each is."""

    seed: int
    font: str
    grey: float
    noise: int | None = None
    crop_coin: bool | None = None
    warm: bool | None = None
    temperature: int | None = None
    rotation: int | None = None
    crop: float | None = None
    crease_angle: int | None = None
    creases_down: int | None = None
    creases_across: int | None = None
    texture: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """As a line of ``render-params.jsonl`` and a row of the table hold them."""
        return asdict(self)


def seed_of(instance_id: str, prefix: int | str = SEED_PREFIX) -> int:
    """The seed of an instance: sha256 of ``<prefix>:<instance_id>`` as an integer, modulo 2**31.

    The spec says "as a 31-bit integer" and leaves open which bits; taking the lowest is our reading.
    """
    return int(hashlib.sha256(f"{prefix}:{instance_id}".encode()).hexdigest(), 16) % 2**31


def draw(seed: int, settings: AugmentSettings = PUBLISHED_AUGMENT, plain: bool = False) -> Draws:
    """The values of the image with this seed; ``plain`` draws what a page without augmentation needs."""
    stream = random.Random(seed)
    drawn = Draws(seed, font=stream.choice(FONTS), grey=stream.uniform(0, GREY))
    if plain:
        return drawn
    if settings.wrinkles:
        drawn = replace(
            drawn,
            crease_angle=stream.choice(range(settings.crease_angle + 1)),
            creases_down=stream.choice(range(1, settings.creases_down + 1)),
            creases_across=stream.choice(range(1, settings.creases_across + 1)),
            texture=stream.choice(TEXTURES),
        )
    return replace(  # arguments are evaluated from left to right: their order is that of the draws
        drawn,
        noise=stream.choice(range(1, settings.noise_max + 1)),
        crop_coin=stream.choice((True, False)),
        warm=(warm := stream.choice((True, False))),
        temperature=stream.choice(WARM_K if warm else COLD_K),
        rotation=stream.randint(-settings.rotate_deg, settings.rotate_deg),
        crop=stream.uniform(0, settings.crop),
    )


def draws_frame(drawn: Iterable[tuple[str, Draws]]) -> pl.DataFrame:
    """A row an image (instance_id, draws), columns and types as in the module's table."""
    import polars as pl

    types = {"str": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
    schema = {field.name: types[field.type.split()[0]] for field in fields(Draws)}
    rows = [{"instance_id": instance_id, **draws.as_dict()} for instance_id, draws in drawn]
    return pl.DataFrame(rows, schema={"instance_id": pl.String, **schema}, orient="row")
