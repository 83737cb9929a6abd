"""The answer of ``why`` for a person who reads: the instance, then class by class the chain in words."""

from __future__ import annotations

from collections.abc import Iterator

from warehouse.why import ClassWhy, Row, Why, reasons

SHORT = 12
"""Hex digits of a fingerprint that a text shows."""


def as_text(found: Why, *, whole: bool = False) -> str:
    """Lines for a terminal. ``whole``: every refused row of a class, not the nearest alone."""
    return "\n".join(_lines(found, whole))


def _lines(found: Why, whole: bool) -> Iterator[str]:
    instance = found.instance
    about = [f"record {instance['record_id']}", *_where(instance), f"group {instance['group_id']}"]
    about += [f"part {instance['part'] or 'none'}", "scored" if instance["scored"] else "not scored"]
    yield f"{found.spec.name}, instance {instance['instance_id']}"
    yield ", ".join(about)
    for row in found.left_out_by:
        yield f"\nLeft out of its part: {instance['left_out'] or row['reason']}"
        yield from _row("-", row)
    silent = []
    for name, each in found.classes.items():
        if not whole and not each.has and each.nearest is None:
            silent.append(name)
            continue
        yield ""
        yield from _class(name, each, whole)
    if silent:
        yield f"\nNo candidate for: {', '.join(silent)}"
        for row in _shared(found, silent):
            yield from _row("-", row)
    if found.other:
        yield "\nOf no class:"
        for row in found.other:
            yield from _row("x", row)
    yield "\nViews and fingerprints of their rules:"
    width = max(map(len, found.views))
    for name, fingerprint in found.views.items():
        yield f"  {name:<{width}}  {fingerprint[:SHORT]}"


def _class(name: str, each: ClassWhy, whole: bool) -> Iterator[str]:
    if each.has:
        yield f"{name}: yes"
        for row in each.accepted:
            yield from _row("+", row)
        if each.refused and not whole:
            yield _more(len(each.refused), "refused", name)
    elif each.nearest is None:
        yield f"{name}: no, and there is no candidate"
    else:
        yield f"{name}: no ({', '.join(each.against)})"
        nearest = [
            row for row in (*each.accepted, *each.refused) if row["evidence"] == each.nearest["evidence"]
        ]
        others = [row for row in (*each.accepted, *each.refused) if row not in nearest]
        for row in [*nearest, *others] if whole else nearest:
            yield from _row("+" if row["accepted"] else "x", row)
        if others and not whole:
            yield _more(len(others), "candidate" if len(others) == 1 else "candidates", name)
    if each.has and whole:
        for row in each.refused:
            yield from _row("x", row)
    for row in each.excluded_by:
        yield from _row("-", row)


def _more(number: int, what: str, name: str) -> str:
    return f"  ({number} more {what}: name the class {name!r}, or --json)"


def _row(sign: str, row: Row) -> Iterator[str]:
    """The sentence, and below it where it is from: + counts, x is refused, - takes the class."""
    yield f"  {sign} {row['words']}"
    source = [text for text in (_file(row), row["map_row"] and f"map.{row['map_row']}") if text]
    named = f"{row['view']}, " + " ".join(dict.fromkeys([str(row["rule"]), *reasons(row)]))
    yield f"    [{'; '.join([*source, named])}]"


def _file(row: Row) -> str:
    if row["source_file"] is None:
        return ""
    first, last = row["first_row"], row["last_row"]
    unit = "annotation" if row["source"] == "annotation" else "line"
    if first is None:
        return str(row["source_file"])
    lines = f"{unit} {first}" if last in (first, None) else f"{unit}s {first} to {last}"
    return f"{row['source_file']} {lines}"


def _shared(found: Why, silent: list[str]) -> list[Row]:
    """What excludes all of the silent classes alike: a reason why there is no candidate at all."""
    rows = [row for name in silent for row in found.classes[name].excluded_by]
    return [
        row for number, row in enumerate(rows) if row not in rows[:number] and rows.count(row) == len(silent)
    ]


def _where(instance: Row) -> list[str]:
    if instance.get("start_s") is not None:
        return [f"{instance['start_s']} to {instance['start_s'] + instance['duration_s']} s"]
    if instance.get("sample") is not None:
        end = instance.get("end_sample")
        return [f"sample {instance['sample']}" + ("" if end is None else f" to {end}")]
    return []
