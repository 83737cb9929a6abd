"""A bundle whose members are those of its index, with its rules as files to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.bundle.archive import Archive
from warehouse.errors import RegistryError
from warehouse.spec import Spec, read_spec
from warehouse.views import Catalog, View


@dataclass(frozen=True)
class Opened:
    """A bundle's parts that can be read without unpacking labels. ``folder`` holds its rules as files."""

    archive: Archive
    folder: Path
    index: Mapping[str, Any]
    manifest: Mapping[str, Any]
    spec: Spec
    catalog: Catalog

    @property
    def view(self) -> View:
        return self.catalog[self.index["view"]]

    @property
    def entry(self) -> Mapping[str, Any]:
        """The task view's entry in the manifest."""
        return self.manifest["views"][self.index["view"]]

    def json(self, name: str) -> Any:
        return json.loads(self.archive.read(name))


def open_rules(archive: Archive, folder: Path, index: Mapping[str, Any]) -> Opened:
    """Write the rules into ``folder`` (names were checked) and read them."""
    for name in archive.sizes:
        if name.startswith(("sql/", "maps/", "splits/")) or name == "spec.json":
            archive.extract(name, folder / name)
    manifest = json.loads(archive.read("manifest.json"))
    catalog = Catalog.read(folder / "sql")
    if index["view"] not in catalog:
        raise RegistryError(f"found no view {index['view']}; expected the task's view in sql/")
    catalog.lineage([index["view"]])  # each view is parsed, and what it reads is looked up
    return Opened(archive, folder, index, manifest, read_spec(folder / "spec.json"), catalog)
