"""The options of `render` and `render-record`, and the settings of images from their words.

Nothing heavy is imported before the settings are made: a command line must start fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pipelines.options import joined
from pipelines.render.settings import LAYOUTS, PALETTES, PUBLISHED
from warehouse.errors import UsageError

if TYPE_CHECKING:
    from pipelines.render.job import ImageSettings
    from warehouse.spec import Spec

image_options = joined(
    click.option("--plain", is_flag=True, help="The page as printed: no noise, crop or light."),
    click.option("--quality", type=click.IntRange(1, 100), help="Of JPEGs; default 90."),
    click.option("--augmenter", type=click.Choice(["fused", "imgaug"]), help="Default fused; same bytes."),
    click.option("--dpi", type=int, help="Default 200."),
    click.option("--layout", type=click.Choice(list(LAYOUTS)), help="Default 3x4."),
    click.option("--rhythm", metavar="LEADS", help="Strips below, as in II,V1, or none; default II."),
    click.option("--palette", type=click.Choice(list(PALETTES)), help="Of the grid; default 5, red."),
    click.option("--paper-speed", type=float, metavar="MM/S", help="Default 25."),
    click.option("--gain", type=float, metavar="MM/MV", help="Default 10."),
    click.option("--rotate", type=click.IntRange(0, 180), help="Turn by up to so many degrees; default 0."),
    click.option("--wrinkles", is_flag=True, help="Creases and wrinkles."),
    click.option("--geometry", is_flag=True, help="Where everything lies, as JSON beside each image."),
)
"""What decides how an image is made; the defaults are the published settings."""

PAGE = {
    "dpi": "dpi",
    "layout": "layout",
    "rhythm": "rhythm",
    "palette": "palette",
    "paper_speed": "paper_mm_per_s",
    "gain": "gain_mm_per_mv",
}
"""Option → field of the page's settings."""
AUGMENT = {"rotate": "rotate_deg", "wrinkles": "wrinkles"}
IMAGE = ("plain", "format", "quality", "augmenter")


def settings_from(options: Mapping[str, Any], spec: Spec | None = None) -> ImageSettings:
    """The settings of a task, or the published ones, with what the options say otherwise; None says nothing.

    Raises UsageError for a value that no page has, and for an augmentation of a plain page.
    """
    from pipelines.render.draws import PUBLISHED_AUGMENT
    from pipelines.render.job import ImageSettings, settings_for

    said = {name: value for name, value in options.items() if value is not None and value is not False}
    lost = [f"--{name}" for name in AUGMENT if said.get(name)] if said.get("plain") else []
    if lost:
        raise UsageError(
            f"found --plain with {' and '.join(lost)}; expected one or the other: "
            "a plain page is printed without augmentation"
        )
    if "rhythm" in said:
        leads = [lead.strip() for lead in said["rhythm"].split(",")]
        said["rhythm"] = () if leads in ([""], ["none"]) else tuple(leads)
    page = replace(PUBLISHED, **{field: said[name] for name, field in PAGE.items() if name in said})
    augment = replace(
        PUBLISHED_AUGMENT, **{field: said[name] for name, field in AUGMENT.items() if name in said}
    )
    own = {name: said[name] for name in IMAGE if name in said}
    own |= {"page": page, "augment": augment}
    return ImageSettings(**own) if spec is None else settings_for(spec, **own)
