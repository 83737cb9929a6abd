"""``diff A B``: two versions of a view, a map or a task."""

from __future__ import annotations

from pathlib import Path

from warehouse.diff.change import Change
from warehouse.diff.declarations import declaration_changes
from warehouse.diff.placing import in_place_of, readers
from warehouse.diff.result import Difference, Rule, TaskDifference
from warehouse.diff.rows import compare_rows
from warehouse.diff.rules import view_changes
from warehouse.diff.sides import Maps, Tasks, Views, sides
from warehouse.diff.tables import map_changes
from warehouse.errors import HomeError, UsageError
from warehouse.flips import compare
from warehouse.home import Home
from warehouse.manifest import read_manifest
from warehouse.maps import map_files
from warehouse.spec import Spec, specs
from warehouse.variant import Variant
from warehouse.views import Catalog, View


def diff(home: Home, before: str, after: str, *, catalog: Catalog | None = None) -> Difference:
    """Compare two versions as :func:`warehouse.diff.sides.sides` takes them: the rule, and every task that reads it.

    Raises UsageError for what is not there or cannot be compared; of the home only what is built is read.
    """
    catalog = catalog or Catalog.read()
    what = sides(catalog, before, after)
    if isinstance(what, Views):
        return _views(home, catalog, what)
    if isinstance(what, Maps):
        return _maps(home, catalog, what)
    return _tasks(home, catalog, what)


def _views(home: Home, catalog: Catalog, pair: Views) -> Difference:
    one, other = pair.before, pair.after
    rule = rule_of("view", other.alias, view_changes(one, other))
    names = f"{one.alias}@{one.version}", f"{other.alias}@{other.version}"
    if one.name == other.name:
        return Difference(*names, [rule])
    tasks, missing = [], []
    for spec, read in readers(catalog, other.alias):
        if not is_built(home, spec):
            missing.append(spec.name)
            continue
        place = next((view for view in read if view.name in (one.name, other.name)), read[0])
        variants = [in_place_of(catalog, spec, place, chosen) for chosen in (one, other)]
        tasks.append(TaskDifference(spec.name, compare(home, spec, *variants, catalog=catalog)))
    notes, rows = [], None
    if other.layer != "task":
        try:
            rows = compare_rows(home, catalog, one, other)
        except HomeError as error:
            notes.append(f"the rows of the view are not compared: {str(error).splitlines()[0]}")
    return Difference(*names, [rule], tasks, missing, rows, notes)


def _maps(home: Home, catalog: Catalog, pair: Maps) -> Difference:
    rule = rule_of("map", f"map.{pair.name}", map_changes(pair.name, pair.before, pair.after))
    names = [_map_name(pair.name, path) for path in (pair.before, pair.after)]
    if rule.state == "same":
        return Difference(*names, [rule])
    variants = [_map_variant(pair.name, path) for path in (pair.before, pair.after)]
    tasks, missing = [], []
    for spec in specs():
        if spec.view in catalog and _reads(catalog.lineage([spec.view]), f"map.{pair.name}"):
            if is_built(home, spec):
                tasks.append(TaskDifference(spec.name, compare(home, spec, *variants, catalog=catalog)))
            else:
                missing.append(spec.name)
    return Difference(*names, [rule], tasks, missing)


def _map_variant(name: str, path: Path) -> Variant:
    return Variant() if path == map_files()[name] else Variant(maps={name: path})


def _map_name(name: str, path: Path) -> str:
    return f"map.{name}" if path == map_files()[name] else str(path)


def _tasks(home: Home, catalog: Catalog, pair: Tasks) -> Difference:
    one, other = pair.before, pair.after
    for spec in (one, other):
        if spec.view not in catalog:
            raise UsageError(f"{spec.name}: found no view {spec.view}; expected one in sql/task")
    rules = [rule_of("task", other.slug, declaration_changes(one.data, other.data))]
    for view, theirs in _paired(catalog, one, other):
        rules.append(rule_of("view", theirs.alias, view_changes(view, theirs)))
    if one.name == other.name:
        return Difference(one.name, other.name, rules)
    missing = [spec.name for spec in (one, other) if not is_built(home, spec)]
    tasks = []
    if not missing:
        found = compare(home, one, Variant(), Variant(), after_task=other, catalog=catalog)
        tasks = [TaskDifference(f"{one.name} → {other.name}", found)]
    return Difference(one.name, other.name, rules, tasks, missing)


def _paired(catalog: Catalog, one: Spec, other: Spec) -> list[tuple[View, View]]:
    """The tasks' views, then the views of both lineages that are other versions of one view."""
    pairs = [(catalog[one.view], catalog[other.view])]
    mine, theirs = ({view.alias: view for view in catalog.lineage([spec.view])} for spec in (one, other))
    pairs += [
        (view, theirs[alias])
        for alias, view in mine.items()
        if alias in theirs and view.layer != "task" and theirs[alias].name != view.name
    ]
    return pairs


def _reads(views: list[View], name: str) -> bool:
    return any(name in view.reads for view in views)


def rule_of(kind: str, name: str, changes: list[Change]) -> Rule:
    return Rule(kind, name, "changed" if changes else "same", changes)


def is_built(home: Home, spec: Spec) -> bool:
    return spec.view in read_manifest(home)["views"]
