"""Toy tasks with their images in a data home, and settings that train them in a second."""

from dataclasses import replace
from pathlib import Path

import pytest
from toy_pages import BINARY, SPEC, pages, write_pages

from pipelines.train.settings import Settings
from warehouse.home import Home

QUICK = Settings(weights="none", input_scale=0.5, epochs=8, batch=4, lr=0.05)


class Street:
    """Tasks by name as `read_task` finds them, in a home with their images."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.tasks = {f"{spec['slug']}@0": pages(spec=spec) for spec in (SPEC, BINARY)}
        for task in self.tasks.values():
            write_pages(self.images(task.spec.name), task)

    def images(self, name: str) -> Path:
        return self.home.images / self.tasks[name].spec.view.removeprefix("task.")

    def change(self, name: str, **fields) -> None:
        self.tasks[name] = replace(self.tasks[name], **fields)


def patched(patch: pytest.MonkeyPatch, home: Home) -> Street:
    """A street whose tasks `read_task` finds."""
    street = Street(home)
    patch.setattr("warehouse.task.read_task", lambda home, name: street.tasks[name])
    patch.setattr("warehouse.images.find_spec", lambda name: street.tasks[name].spec)
    return street
