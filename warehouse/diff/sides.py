"""The two sides of `diff A B`: versions of a view, maps, or tasks, as the command line names them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warehouse.diff.tables import require_columns, require_key
from warehouse.errors import UsageError
from warehouse.maps import map_files
from warehouse.spec import Spec, find_spec, specs
from warehouse.task import is_task
from warehouse.views import Catalog, View

MAP = "map."


@dataclass(frozen=True)
class Views:
    """Two versions of one view."""

    before: View
    after: View


@dataclass(frozen=True)
class Maps:
    """Two CSVs of one map."""

    name: str
    before: Path
    after: Path


@dataclass(frozen=True)
class Tasks:
    """Two tasks on the same instances, most often two versions of one."""

    before: Spec
    after: Spec


def sides(catalog: Catalog, before: str, after: str) -> Views | Maps | Tasks:
    """What `diff` is asked to compare.

    ``after`` may be ``@N`` alone, another version of the first. A map is ``map.<name>``, today's, or a CSV file that is
    named for its map. Raises UsageError for names and versions that are not there (with those that are), for two
    different kinds of things, and for views of different grain.
    """
    if after.startswith("@"):
        after = f"{before.partition('@')[0]}{after}"
    names = before, after
    if any(map(_is_map, names)):
        return _maps(*names)
    if any(map(is_task, names)):
        first, second = (_task(name) for name in names)
        if first.data["dataset"] != second.data["dataset"]:
            raise UsageError(
                f"{first.name} is a task on {first.data['dataset']}, {second.name} on {second.data['dataset']}; "
                "expected two tasks on the same instances"
            )
        return Tasks(first, second)
    one, other = (_view(catalog, name) for name in names)
    if one.alias != other.alias:
        raise UsageError(
            f"found {one.name} and {other.name}; expected two versions of one view",
            f"versions of {one.alias}: {_listed(catalog, one.alias)}",
        )
    if one.grain != other.grain:
        grains = [f"{view.name} has a row a {', '.join(view.grain) or 'table'}" for view in (one, other)]
        raise UsageError(
            f"{' and '.join(grains)}; expected two versions with the same grain, so that their rows can be paired",
            "compare each with what it was made from, with `sql`",
        )
    return Views(one, other)


def _is_map(name: str) -> bool:
    return name.startswith(MAP) or Path(name).suffix == ".csv"


def _maps(before: str, after: str) -> Maps:
    names, files = [], []
    for name in (before, after):
        path = Path(name)
        if name.startswith(MAP):
            stem = name.removeprefix(MAP)
            path = _map_file(stem)
        elif path.suffix == ".csv":
            stem = path.stem
            if not path.is_file():
                raise UsageError(f"{path}: found no file; expected a map's CSV")
        else:
            raise UsageError(
                f"found {name!r} beside a map; expected map.<name> or a CSV file named for its map"
            )
        names.append(stem)
        files.append(path)
    if before.startswith(MAP):  # the name is said, so the other file may be called anything
        names[1] = names[0]
    name = names[0]
    _map_file(name)
    if names[1] != name:
        raise UsageError(f"found maps {name} and {names[1]}; expected two versions of one map")
    for path in files:
        require_columns(name, _map_file(name), path)
        require_key(name, _map_file(name), path)
    return Maps(name, *files)


def _map_file(name: str) -> Path:
    files = map_files()
    if name not in files:
        raise UsageError(f"found no map {name!r}; expected one of: {', '.join(files)}")
    return files[name]


def _task(name: str) -> Spec:
    slug = name.partition("@")[0]
    known = [spec.name for spec in specs() if spec.slug == slug]
    if known and "@" in name and name not in known:
        raise UsageError(f"found no task {name!r}; expected one of the versions {', '.join(known)}")
    return find_spec(name)


def _view(catalog: Catalog, name: str) -> View:
    alias = name.partition("@")[0]
    known = _listed(catalog, alias)
    if known and "@" in name and name.replace("@", "_v") not in catalog.named:
        raise UsageError(f"found no view {name!r}; expected one of the versions {known}")
    return catalog.resolve(name)


def _listed(catalog: Catalog, alias: str) -> str:
    views = sorted(
        (view for view in catalog.named.values() if view.alias == alias), key=lambda view: view.version
    )
    return ", ".join(f"{view.alias}@{view.version}" for view in views)
