"""A home with toy pages, rendered; the small network where a test does not ask for the real one."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from toy_pages import BINARY, SPEC, pages, write_pages

from warehouse.home import Home


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
    street = Street(home)
    patch.setattr("warehouse.task.read_task", lambda home, name: street.tasks[name])
    patch.setattr("warehouse.images.find_spec", lambda name: street.tasks[name].spec)
    return street


@pytest.fixture
def street(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Street:
    """With the small network, on one thread: two that wait for each other cost more than they give."""
    if importlib.util.find_spec("torch") is not None:
        import tiny
        import torch

        torch.set_num_threads(1)
        monkeypatch.setattr("models.make", tiny.make)
    return patched(monkeypatch, Home(tmp_path / "data"))
