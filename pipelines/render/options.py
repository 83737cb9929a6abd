"""Settings of images from the words of a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipelines.render.draws import PUBLISHED_AUGMENT
from pipelines.render.job import ImageSettings, settings_for
from pipelines.render.settings import PUBLISHED
from warehouse.errors import UsageError
from warehouse.spec import Spec

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
