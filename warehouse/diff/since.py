"""``diff --since REV``: every view, map, split and task that differs from a git revision, and what that does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from warehouse.database import computable, define, define_view, inputs
from warehouse.diff import splits
from warehouse.diff.change import Change
from warehouse.diff.declarations import declaration_changes
from warehouse.diff.placing import affected
from warehouse.diff.result import Difference, Rule, TaskDifference
from warehouse.diff.revision import Tree, at_revision, working_tree
from warehouse.diff.rules import view_changes
from warehouse.diff.tables import map_changes, part_moves
from warehouse.diff.versions import is_built
from warehouse.flips import compare
from warehouse.home import Home
from warehouse.spec import find_spec
from warehouse.variant import Variant
from warehouse.views import Catalog, View

NOW = "the working tree"


def diff_since(home: Home, revision: str, tasks: Sequence[str] = ()) -> Difference:
    """Compare the working tree with a revision; ``tasks``: flips of these alone.

    Views, maps, splits and specs of the revision stand on the before side, on the same loaded data. Raises UsageError
    for an unknown revision or task, HomeError outside a git repository, RegistryError, with its file, for a view of
    the working tree that DuckDB refuses.
    """
    wanted = [find_spec(name).name for name in tasks]
    now = working_tree()
    list(now.catalog)
    with at_revision(revision) as then, tempfile.TemporaryDirectory(prefix="leadhouse-diff-") as name:
        changes = _Changes(home, then, now, Path(name))
        rules = [*changes.views(), *changes.maps(), *changes.splits(), *changes.tasks()]
        _bind(home, now.catalog, [rule.name for rule in rules if rule.kind == "view"])
        compared, missing = changes.compared(rules, wanted)
        return Difference(revision, NOW, rules, compared, missing, None, changes.notes)


@dataclass
class _Changes:
    home: Home
    then: Tree
    now: Tree
    folder: Path
    notes: list[str] = field(default_factory=list)
    drawn: dict[str, dict[str, Path]] = field(default_factory=lambda: {"before": {}, "after": {}})

    def views(self) -> Iterator[Rule]:
        old, new = self.then.catalog.named, self.now.catalog.named
        for name in sorted({*old, *new}):
            if name not in new:
                yield Rule("view", name, "removed")
            elif name not in old:
                earlier = _earlier(self.now.catalog, new[name])
                changes = view_changes(earlier, new[name]) if earlier else []
                yield Rule("view", name, "new", changes, earlier and earlier.name)
            elif changes := view_changes(old[name], new[name]):
                yield Rule("view", name, "changed", changes)

    def maps(self) -> Iterator[Rule]:
        old, new = self.then.maps, self.now.maps
        for name in sorted({*old, *new}):
            changes = map_changes(name, old.get(name), new.get(name))
            if changes:
                state = "new" if name not in old else "removed" if name not in new else "changed"
                yield Rule("map", f"map.{name}", state, changes if state == "changed" else ())

    def splits(self) -> Iterator[Rule]:
        old, new = self.then.splits, self.now.splits
        for name in sorted({*old, *new}):
            if old.get(name) == new.get(name):
                continue
            if name not in old or name not in new:
                yield Rule("split", f"split.{name}", "new" if name not in old else "removed")
                continue
            changes = declaration_changes(old[name], new[name])
            yield Rule("split", f"split.{name}", "changed", [*changes, *self._moves(name)])

    def _moves(self, name: str) -> list[Change]:
        tables = [splits.drawn_by(self.home, name, tree.splits[name]) for tree in (self.then, self.now)]
        if None in tables:
            self.notes.append(f"split.{name}: its data set is not loaded here, so nothing was drawn")
            return []
        for side, table in zip(self.drawn, tables, strict=True):
            self.drawn[side][name] = splits.write(table, self.folder, f"{side}_{name}")
        moves = part_moves(*map(splits.members, tables))
        return moves or [Change("split", "", "the same members in every part")]

    def tasks(self) -> Iterator[Rule]:
        old, new = self.then.tasks, self.now.tasks
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                yield Rule("task", name, "new" if name not in old else "removed")
            elif changes := declaration_changes(old[name].data, new[name].data):
                yield Rule("task", name, "changed", changes)

    def compared(
        self, rules: Sequence[Rule], wanted: Sequence[str]
    ) -> tuple[list[TaskDifference], list[str]]:
        """The tasks whose lineage differs, compared where they are built, and the names of the others."""
        names = {rule.name for rule in rules}
        maps = {
            name: path
            for name, path in self.then.maps.items()
            if f"map.{name}" in names and self.now.maps.get(name) != path
        }
        before = Variant(catalog=self.then.catalog, maps=maps, splits=self.drawn["before"])
        after = Variant(splits=self.drawn["after"])
        catalogs = self.then.catalog, self.now.catalog
        found, missing = [], []
        for name, spec in self.now.tasks.items():
            if name not in self.then.tasks or (wanted and name not in wanted):
                continue
            old = self.then.tasks[name]
            if spec.view not in catalogs[0] or spec.view not in catalogs[1]:
                continue
            if name not in names and name not in wanted and not affected(catalogs, spec.view, names):
                continue
            if not is_built(self.home, spec):
                missing.append(name)
                continue
            comparison = compare(self.home, old, before, after, after_task=spec, catalog=self.now.catalog)
            found.append(TaskDifference(name, comparison))
        return found, missing


def _earlier(catalog: Catalog, view: View) -> View | None:
    """What a new version stands beside: the newest released one before it, else the newest draft."""
    older = [one for one in catalog.named.values() if one.alias == view.alias and one.version < view.version]
    return max(older, key=lambda one: (one.status == "released", one.version), default=None)


def _bind(home: Home, catalog: Catalog, names: Sequence[str]) -> None:
    """Let DuckDB look at the changed views of the working tree, as far as their data is loaded; nothing is computed.

    Raises RegistryError with the file of one that it refuses.
    """
    present = inputs(home)
    lineage = catalog.lineage([name for name in names if name in catalog])
    able = computable(lineage, present)
    views = catalog.lineage([name for name in names if name in able])
    read = {name for view in views for name in view.reads}
    con = duckdb.connect()
    define(con, {name: source for name, source in present.items() if name in read}, [], lambda view: None)
    for view in views:
        define_view(con, view, None)
