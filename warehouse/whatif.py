"""``whatif``: a task's counts under another rule, beside today's; nothing is written.

A question changes verdicts over the evidence (:mod:`warehouse.judged`), maps, or constants (:mod:`warehouse.params`);
what it touches is computed by :mod:`warehouse.variant` and compared by :mod:`warehouse.flips`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from warehouse.errors import RegistryError, UsageError
from warehouse.flips import Comparison, compare
from warehouse.home import Home, writing
from warehouse.judged import Evidence, evidence_views, judging, meaning, refusing, select_lists
from warehouse.maps import map_files, map_rows, read_map
from warehouse.params import changes, rewritten
from warehouse.spec import Spec, find_spec
from warehouse.variant import Variant, open_variant
from warehouse.views import Catalog


@dataclass(frozen=True)
class Answer:
    """``changed``: what the question changes, one entry a thing; ``comparison``: today beside that."""

    spec: Spec
    changed: list[dict]
    comparison: Comparison

    def as_json(self) -> dict:
        """``{"task", "changed", "before": <counts>, "after": <counts>, "flips", "flipped", "moves",
        "with_left_out": {"before", "after"}, "computed_anew"}``; flips are pairs of instance and class."""
        found = self.comparison
        return {
            "task": self.spec.name,
            "changed": self.changed,
            "before": found.before.as_json(),
            "after": found.after.as_json(),
            "flips": found.flip_count,
            "flipped": found.flipped,
            "moves": found.move_count,
            "with_left_out": {side: dict(counts) for side, counts in found.whole.items()},
            "computed_anew": list(found.stale),
        }

    def as_text(self) -> str:
        from warehouse.comparison_text import as_text

        said = [_words(entry) for entry in self.changed]
        return "\n".join([f"{self.spec.name}, if", *(f"  {line}" for line in said), as_text(self.comparison)])


def what_if(
    home: Home,
    task: str,
    *,
    accept: Sequence[str] = (),
    refuse: Sequence[str] = (),
    maps: Sequence[Path] = (),
    constants: Sequence[str] = (),
    flips: Path | None = None,
) -> Answer:
    """Ask one question of a task, of all changes together.

    ``accept``: reasons or families of reasons; ``refuse``: rules of candidates; ``maps``: CSV files, each named for the
    map that it stands for; ``constants``: ``NAME=VALUE``. ``flips``: a .parquet or .csv file for every flip with its
    evidence. Raises UsageError for what is not there, with what is; RegistryError for a map or a value that the views
    cannot work with.
    """
    spec, catalog = find_spec(task), Catalog.read()
    if not (accept or refuse or maps or constants):
        raise UsageError(
            "found no change to ask for; expected --accept REASON, --refuse RULE, --map FILE or --set NAME=VALUE"
        )
    if flips is not None and flips.suffix not in (".parquet", ".csv"):
        raise UsageError(f"{flips}: found this file name; expected one that ends in .parquet or .csv")
    lineage = catalog.lineage([spec.view])
    set_here = changes(lineage, _pairs(constants))
    views = {view.name: rewritten(view, set_here) for view in lineage}
    variant = Variant(
        views={name: text for name, text in views.items() if text != catalog[name].sql},
        maps={path.stem: _checked(path, spec, catalog) for path in maps},
    )
    judges: list[Evidence] = []
    with _asked(variant):
        if accept or refuse:
            evidence = evidence_views(catalog, spec.view)
            con = open_variant(home, catalog, Variant(), [view.name for view in evidence])
            judges = judging(con, evidence)
            elsewhere = bool(variant.views or variant.maps)
            columns = select_lists(con, judges, accept, refuse, elsewhere=elsewhere)
            variant = replace(variant, columns=columns)
        comparison = compare(home, spec, Variant(), variant, catalog=catalog, evidence=flips is not None)
    touched = sorted(variant.columns)
    if touched and not (refuse or comparison.flip_count or comparison.move_count):
        touched = refusing(con, judges, [reason for name in accept for reason in meaning(name, judges)])
    if flips is not None:
        with writing(flips, "--flips FILE"):
            comparison.write_flips(flips)
    changed: list[dict] = [
        *({"accept": name, "reasons": list(meaning(name, judges)), "views": touched} for name in accept),
        *({"refuse": rule, "views": touched} for rule in refuse),
        *({"map": path.stem, "file": str(path)} for path in maps),
        *(
            {
                "set": each.constant.name,
                "view": each.constant.view,
                "from": each.constant.literal,
                "to": each.literal,
            }
            for each in set_here
        ),
    ]
    return Answer(spec, changed, comparison)


@contextmanager
def _asked(variant: Variant) -> Iterator[None]:
    """A value or a map that the views cannot work with is wrong usage: today's views are sound."""
    try:
        yield
    except RegistryError as error:
        if not (variant.views or variant.maps):
            raise
        raise UsageError(
            f"the views cannot work with this: {str(error).splitlines()[0]}",
            "ask for another value, or mend the map",
        ) from error


def _pairs(constants: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in constants:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"found --set {text!r}; expected NAME=VALUE")
        if found.setdefault(name.strip(), value.strip()) != value.strip():
            raise UsageError(f"found two values for {name.strip()}; expected one")
    return found


def _checked(path: Path, spec: Spec, catalog: Catalog) -> Path:
    """A CSV that can stand for the map that it is named for. Raises UsageError."""
    from warehouse.diff.tables import require_key

    read = {
        name[4:] for view in catalog.lineage([spec.view]) for name in view.reads if name.startswith("map.")
    }
    if path.stem not in read:
        known = f"{spec.name} reads {', '.join(f'{name}.csv' for name in sorted(read))}"
        kind = "a map that the task does not read" if path.stem in map_files() else "no map's name"
        raise UsageError(f"{path}: found {kind}; expected a file named for its map: {known}")
    try:
        rows = read_map(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); expected a CSV") from error
    if not rows:
        raise UsageError(f"{path}: found a map without rows; expected at least one")
    wanted, found = list(map_rows(path.stem)[0]), list(rows[0])
    if sorted(found) != sorted(wanted):
        raise UsageError(
            f"{path}: found columns {', '.join(found)}; expected those of map.{path.stem}: {', '.join(wanted)}"
        )
    require_key(path.stem, map_files()[path.stem], path)
    return path


def _words(entry: dict) -> str:
    """One change as a line."""
    if "accept" in entry:
        meant = "" if entry["reasons"] == [entry["accept"]] else f" ({', '.join(entry['reasons'])})"
        where = (
            f" in {', '.join(entry['views'])}"
            if entry["views"]
            else "; no row here is refused for that alone"
        )
        return f"what is refused as {entry['accept']}{meant} were accepted{where}"
    if "refuse" in entry:
        return f"candidates of rule {entry['refuse']} were refused in {', '.join(entry['views'])}"
    if "map" in entry:
        return f"map.{entry['map']} were {entry['file']}"
    if entry["from"] == entry["to"]:
        return f"{entry['set']} stayed {entry['to']} in {entry['view']}"
    return f"{entry['set']} were {entry['to']} in {entry['view']}, not {entry['from']}"
