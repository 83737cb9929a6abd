"""A comparison as a table for a terminal: counts per class and part beside those before, with the difference."""

from __future__ import annotations

from warehouse.flips import SIDES, Comparison
from warehouse.table import as_text as table

WITH_LEFT_OUT = "with left-out ones"


def as_text(found: Comparison) -> str:
    """Counts, flips by class, moves, and what was computed anew."""
    lines = [table(*counts(found)), *flips(found)]
    if found.move_count:
        lines.append(
            f"moved: {found.move_count:,} instances have another part, or are left out for another reason"
        )
    for side in SIDES:
        if found.missing[side]:
            lines.append(f"only {side}: {found.missing[side]:,} instances")
    if found.stale:
        lines.append(
            f"note: the build holds other rules or data than today's of {', '.join(found.stale)}; both sides were "
            "computed with today's"
        )
    lines += [f"note: {note}" for note in dict.fromkeys([*found.before.notes, *found.after.notes])]
    return "\n".join(lines)


def counts(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a row a count, a column a part, the sum over the parts, and the sum with left-out instances.

    A binary task has a row for the instances that are scored and not of its class.
    """
    sides = [_by_part(found, side) for side in SIDES]
    parts = list(dict.fromkeys(part for side in sides for part in side))
    names = list(dict.fromkeys(name for side in sides for part in side.values() for name in part))
    rows = [
        [name, *(_cell(*(side.get(part, {}).get(name) for side in sides)) for part in parts)]
        for name in names
    ]
    return ["", *parts], rows


def flips(found: Comparison) -> list[str]:
    """How many instances flip, and how, by class."""
    share = f" ({100 * found.flipped / found.instances:.2g} %)" if found.flipped else ""
    lines = [f"flips: {found.flipped:,} of {found.instances:,} instances{share}"]
    for name, ways in found.by_class.items():
        said = ", ".join(f"{way.replace('_', ' ')} {number:,}" for way, number in ways.items() if number)
        lines.append(f"  {name}: {said}")
    return lines


def _by_part(found: Comparison, side: str) -> dict[str, dict[str, int]]:
    """Part → what is counted → number; the sums as parts of their own."""
    counted = getattr(found, side)
    parts = {
        part: {
            "instances": entry["records"],
            "left out": entry["left_out"],
            "scored": entry["scored"],
            **_classes(counted.spec.classes, entry["scored"], entry["classes"]),
        }
        for part, entry in counted.as_json()["parts"].items()
    }
    total: dict[str, int] = {}
    for entry in parts.values():
        for name, number in entry.items():
            total[name] = total.get(name, 0) + number
    whole = found.whole[side]
    everything = {
        "instances": whole["records"],
        "scored": whole["scored"],
        **_classes(counted.spec.classes, whole["scored"], whole["classes"]),
    }
    return {**parts, "total": total, WITH_LEFT_OUT: everything}


def _classes(names: tuple[str, ...], scored: int, counted: dict[str, int]) -> dict[str, int]:
    binary = {f"not {names[0]}": scored - counted[names[0]]} if len(names) == 1 else {}
    return {**counted, **binary}


def _cell(before: int | None, after: int | None) -> str:
    if before is None or after is None:
        known = after if before is None else before
        return "" if known is None else f"{known:,} ({'new' if before is None else 'gone'})"
    return f"{after:,}" if before == after else f"{before:,} → {after:,} ({after - before:+,})"
