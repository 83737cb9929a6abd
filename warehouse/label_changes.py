"""What a released view does to labels, as an entry below "Labels changed" in CHANGELOG.md.

For every task that the view decides: the flips against the version before it, or, of a first version, how many records
have a label. The version before is, of those of a lower number, the newest that tasks read, else the newest released
one, else the newest draft. A task that reads the new version is compared with itself on the version before; a task that
reads the version before, with itself on the new one; a new task version, with the task's version before.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from warehouse.counts import Counts, count
from warehouse.errors import LeadhouseError, UsageError
from warehouse.home import Home
from warehouse.manifest import read_manifest
from warehouse.spec import Spec, specs
from warehouse.views import Catalog, View

SECTION = "### Labels changed"
NONE_YET = "- None"
WIDTH = 120
FIRST = 3
"""How many flips an entry names."""
_KEPT = "\x00"
"""Stands for the blanks of a command while lines are broken."""


@dataclass(frozen=True)
class Change:
    """What a view does to one task: words, or why they could not be found (``lacking``)."""

    task: str
    words: str
    lacking: str | None = None


def version_before(catalog: Catalog, view: View) -> View | None:
    """The version that a view takes the place of; None for a first one.

    What labels are made of goes before a version that was released and that no task reads yet: beside that one, no task
    would be decided.
    """
    lower = [
        other for other in catalog.values() if other.alias == view.alias and other.version < view.version
    ]
    tasks = [spec.view for spec in specs() if spec.view in catalog] if len(lower) > 1 else []
    read = {member.name for member in catalog.lineage(tasks)}
    return max(
        lower, key=lambda other: (other.name in read, other.status == "released", other.version), default=None
    )


def changes(home: Home, catalog: Catalog, view: View) -> list[Change]:
    """What a view does to every task that it decides; empty where it decides none."""
    before = version_before(catalog, view)
    built = read_manifest(home)["views"]
    found = []
    for spec in specs():
        reads = {member.name for member in catalog.lineage([spec.view])} if spec.view in catalog else set()
        decided = view.name in reads or (before is not None and view.layer != "task" and before.name in reads)
        if not decided:
            continue
        if spec.view not in built:
            found.append(Change(spec.name, "", f"{spec.name} is not built here"))
            continue
        try:
            words = (
                _labelled(home, spec)
                if before is None
                else _flips(home, catalog, spec, before, view, view.name in reads)
            )
            found.append(Change(spec.name, words))
        except LeadhouseError as error:
            reason = str(error).splitlines()[0]
            found.append(Change(spec.name, "", f"{spec.name} cannot be counted: {reason}"))
    return found


def entry(catalog: Catalog, view: View, found: Sequence[Change]) -> str | None:
    """The lines of the entry; None where the view decides no task."""
    if not found:
        return None
    before = version_before(catalog, view)
    name = f"`{view.alias}@{view.version}`"
    head = f"- {name}, first version." if before is None else f"- {name} in the place of `@{before.version}`."
    told = [
        f"`{change.task}`: {change.words}"
        if change.lacking is None
        else f"`{change.task}`: not counted, for {change.lacking}."
        for change in found
    ]
    if before is not None:
        slug = next((spec.slug for spec in specs() if spec.view == view.name), view.alias)
        told.append(f"All: `leadhouse diff {slug}@{before.version} @{view.version}`.")
    text = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", _KEPT), " ".join([head, *told]))
    return textwrap.fill(
        text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ).replace(_KEPT, " ")


def with_entry(text: str, view: View, lines: str) -> str:
    """CHANGELOG's text with the entry in its newest section of labels, in the place of an earlier entry on the view.

    Raises UsageError where there is no such section.
    """
    rows = text.splitlines()
    heads = [place for place, row in enumerate(rows) if row.startswith("## ")]
    try:
        first = rows.index(SECTION, 0, heads[1] if len(heads) > 1 else len(rows)) + 1
    except ValueError:
        raise UsageError(
            f"CHANGELOG.md: found no line {SECTION!r}; expected one below Unreleased", "write the heading"
        ) from None
    last = next((place for place in range(first, len(rows)) if rows[place].startswith("#")), len(rows))
    mine = re.compile(rf"- `{re.escape(view.alias)}@{view.version}`[, ]")
    kept = [
        each
        for each in _entries(rows[first:last])
        if not mine.match(each[0]) and not each[0].startswith(NONE_YET)
    ]
    section = ["", *(row for each in kept for row in each), *lines.splitlines()]
    rest = rows[last:]
    return "\n".join([*rows[:first], *section, *([""] if rest else []), *rest]) + "\n"


def _entries(rows: list[str]) -> list[list[str]]:
    """A section's list items with the lines that go on, without blank lines."""
    found: list[list[str]] = []
    for row in rows:
        if row.startswith("- ") or (row.strip() and not found):
            found.append([row])
        elif row.strip():
            found[-1].append(row)
    return found


def _labelled(home: Home, spec: Spec) -> str:
    counts = count(home, spec.name)
    if counts.stale:
        raise UsageError(f"it was built before {', '.join(counts.stale)} changed; run materialize")
    parts = {part: scored for _, part, _, _, scored, *_ in counts.rows if scored}
    listed = f" ({', '.join(f'{part} {scored:,}' for part, scored in parts.items())})" if parts else ""
    return f"{sum(parts.values()):,} records with a label{listed}."


def _flips(home: Home, catalog: Catalog, spec: Spec, before: View, view: View, reads_new: bool) -> str:
    from warehouse.flips import compare
    from warehouse.variant import Variant

    today = Variant()
    if view.layer == "task":
        earlier = next((each for each in specs() if each.view == before.name), None)
        if earlier is None:
            raise UsageError(f"found no spec of {before.name}; expected one to compare with")
        found = compare(home, earlier, today, today, after_task=spec, catalog=catalog)
    elif reads_new:
        found = compare(home, spec, Variant(views={view.name: before.sql}), today, catalog=catalog)
    else:
        found = compare(home, spec, today, Variant(views={before.name: view.sql}), catalog=catalog)
    share = 100 * found.flipped / found.instances if found.instances else 0.0
    told = [f"{found.flipped:,} of {found.instances:,} instances flip ({share:.2f} %)"]
    if found.move_count:
        told.append(f"{found.move_count:,} move between parts or are left out otherwise")
    for side, word in (("before", "go"), ("after", "come")):
        if found.missing[side]:
            told.append(f"{found.missing[side]:,} {word}")
    told += _counts(found.before, found.after)
    first = found.flips(FIRST, evidence=False)
    if first:
        told.append("first " + ", ".join(_flip(each) for each in first))
    return "; ".join(told) + "."


def _flip(each: dict) -> str:
    words = {True: "yes", False: "no", None: "unknown"}
    return f"`{each['instance_id']}` {each['class']} {words[each['before']]} → {words[each['after']]}"


def _counts(before: Counts, after: Counts) -> list[str]:
    """What changes of records with a label and of each class, part by part."""
    old, new = before.as_json()["parts"], after.as_json()["parts"]
    told = []
    for name in ("scored", *dict.fromkeys((*before.spec.classes, *after.spec.classes))):
        parts = []
        for part in dict.fromkeys((*old, *new)):
            values = [_value(side.get(part), name) for side in (old, new)]
            if values[0] != values[1]:
                parts.append(f"{part} {values[0]:,} → {values[1]:,}")
        if parts:
            told.append(f"{'with a label' if name == 'scored' else name}: {', '.join(parts)}")
    return told or ["no count changes"]


def _value(part: dict | None, name: str) -> int:
    if part is None:
        return 0
    return part["scored"] if name == "scored" else part["classes"].get(name, 0)
