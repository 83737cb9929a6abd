"""What `diff` found, for a terminal and for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from warehouse.comparison_text import counts
from warehouse.diff.change import Change, cut
from warehouse.diff.result import Budget, Difference, Rule, TaskDifference
from warehouse.diff.rows import Rows
from warehouse.table import as_text as as_table

SHOWN = 10
"""How many flips a text shows of a task when nothing else is asked for."""

EVIDENCE = 3
"""How many pieces of evidence a text shows of a flip."""

MARK = "<!-- leadhouse diff -->"
"""First line of the Markdown: what finds an earlier comment again."""

LONGEST = 60_000
"""Characters of a Markdown comment; GitHub takes 65,536."""

SAID = 40
"""How many changes of one rule a comment spells out."""

SIDES = {"before": "before alone", "after": "after alone", "both": "both, added up otherwise"}


def as_text(found: Difference, shown: int = SHOWN) -> str:
    lines = [f"{found.before} → {found.after}"]
    if found.is_same:
        lines.append("the same: no rule and no instance differs")
    for words, changes in _said(found):
        lines += ["", words, *(f"  {change}" for change in changes)]
    for task in found.tasks:
        lines += ["", headline(task)]
        if task.differing:
            lines += [
                as_table(*counts(task.comparison)),
                *_flip_lines(task, shown),
                *_move_lines(task, shown),
            ]
    if found.rows is not None:
        lines += ["", *_row_lines(found.rows)]
    if found.not_built:
        lines += ["", f"not built here: {', '.join(found.not_built)}"]
    lines += [f"note: {note}" for note in notes(found)]
    return "\n".join(lines)


def as_markdown(found: Difference, shown: int = SHOWN, budget: Budget | None = None) -> str:
    """A comment for a pull request: verdict, counts, the rule, and the first flips folded away."""
    lines = [MARK, f"### Labels: `{found.before}` → `{found.after}`", ""]
    if found.is_same:
        lines += ["The same: no rule and no instance differs.", ""]
    beyond = {task.name for task in found.beyond(budget)} if budget else set()
    for task in found.tasks:
        verdict = f" — **beyond the budget of {budget.text}**" if budget and task.name in beyond else ""
        lines += [f"**{_escaped(headline(task))}**{verdict}", ""]
        if task.differing:
            lines += [*_markdown_table(*counts(task.comparison)), ""]
    for words, changes in _said(found):
        lines += [
            f"**{_escaped(cut(words, 1_000))}**",
            *(f"- {_escaped(str(each))}" for each in changes[:SAID]),
        ]
        lines += [f"- … and {len(changes) - SAID} more changes"] if len(changes) > SAID else []
        lines.append("")
    for task in found.tasks:
        listed = [*_flip_lines(task, shown), *_move_lines(task, shown)] if task.differing else []
        if listed:
            summary = f"{_escaped(task.name)}: the first {shown} flips and moves"
            lines += [
                "<details>",
                f"<summary>{summary}</summary>",
                "",
                "```",
                *listed,
                "```",
                "",
                "</details>",
                "",
            ]
    if found.not_built:
        lines += [f"Not built here: {', '.join(f'`{name}`' for name in found.not_built)}.", ""]
    lines += [f"_{_escaped(note)}_" for note in notes(found)]
    text = "\n".join(lines).rstrip()
    if len(text) > LONGEST:
        kept = text[:LONGEST].rsplit("\n", 1)[0]
        closing = ("```\n\n" if kept.count("```") % 2 else "") + (
            "</details>\n\n" if kept.count("<details>") > kept.count("</details>") else ""
        )
        text = f"{kept}\n{closing}_Cut here: `leadhouse diff` with `--json` has all._"
    return text


def title(rule: Rule) -> str:
    """What a rule is and whether it changed, in a line."""
    kind = "" if rule.name.startswith(f"{rule.kind}.") else f"{rule.kind} "
    if rule.state == "same":
        return f"{kind}{rule.name}: no change in the rule"
    beside = f", beside {rule.against}" if rule.against else ""
    return f"{kind}{rule.name} is {rule.state}{beside}" if rule.state != "changed" else f"{kind}{rule.name}:"


def _said(found: Difference) -> Iterator[tuple[str, Sequence[Change]]]:
    """Each rule with its changes; those that only came or went, together."""
    for rule in found.rules:
        if rule.changes or rule.state == "same":
            yield title(rule), rule.changes
    for state in ("new", "removed"):
        names = [rule.name for rule in found.rules if rule.state == state and not rule.changes]
        if names:
            yield f"{state}: {', '.join(names)}", ()


def headline(task: TaskDifference) -> str:
    """How many instances of a task differ, in a line."""
    found = task.comparison
    if not task.differing:
        return f"{task.name}: the same labels for all {found.instances:,} instances"
    parts = [
        f"{number:,} {words}"
        for number, words in (
            (found.flipped, "flip"),
            (found.move_count, "lie in another part, or in or out of it"),
            (found.missing["before"], "before alone"),
            (found.missing["after"], "after alone"),
        )
        if number
    ]
    return f"{task.name}: of {found.instances:,} instances {', '.join(parts)}"


def notes(found: Difference) -> list[str]:
    listed = list(found.notes)
    for task in found.tasks:
        if task.comparison.flip_count and not task.comparison.explained:
            listed.append(f"{task.name} has no why view: its flips are listed without evidence")
    stale = dict.fromkeys(name for task in found.tasks for name in task.comparison.stale)
    if stale:
        listed.append(f"{', '.join(stale)}: built of other rules or data than today's, so computed anew")
    return listed


def said(value: bool | float | None) -> str:
    return {True: "true", False: "false", None: "no label"}.get(value, str(value))


def _flip_lines(task: TaskDifference, shown: int) -> Iterator[str]:
    found = task.comparison
    for name, before, after, number, used in task.transitions:
        apart = "" if used == number else f" ({used:,} of them in use, {number - used:,} left out)"
        yield f"{name}: {number:,} × {said(before)} → {said(after)}{apart}"
    for flip in found.flips(shown):
        yield f"  {flip['instance_id']}  {flip['class']}: {said(flip['before'])} → {said(flip['after'])}"
        yield from (f"      {SIDES[row['side']]}: {_evidence(row)}" for row in flip["evidence"][:EVIDENCE])
        if len(flip["evidence"]) > EVIDENCE:
            yield f"      … and {len(flip['evidence']) - EVIDENCE} more pieces of evidence"
    if found.flip_count > shown:
        yield f"  … and {found.flip_count - shown:,} more flips: --json or --parquet FILE has all, --show N more"


def _move_lines(task: TaskDifference, shown: int) -> Iterator[str]:
    found = task.comparison
    for before, after, number in task.journeys:
        yield f"{number:,} × {before} → {after}"
    for move in found.moves(shown):
        yield f"  {move['instance_id']}  {_place(move['before'])} → {_place(move['after'])}"
    if found.move_count > shown:
        yield f"  … and {found.move_count - shown:,} more: --json has all, --show N more"
    for side in ("before", "after"):
        alone = found.only(side, shown)
        if alone:
            more = found.missing[side] - len(alone)
            yield f"{side} alone: {', '.join(alone)}" + (f" … and {more:,} more" if more else "")


def _place(side: Mapping) -> str:
    return f"{side['part'] or 'no part'}{', left out: ' + side['left_out'] if side['left_out'] else ''}"


def _evidence(row: Mapping) -> str:
    return cut(row["words"] or f"{row['kind']} {row['class'] or ''} by {row['rule']}: {row['value'] or ''}")


def _row_lines(rows: Rows) -> Iterator[str]:
    yield (
        f"rows of {rows.view} by {', '.join(rows.grain)}: {rows.added:,} added, {rows.removed:,} removed, "
        f"{rows.changed:,} changed, {rows.same:,} the same"
    )
    for side, names in rows.columns.items():
        if names:
            yield f"  {side} alone has the columns {', '.join(names)}"
    for row in rows.first:
        key = ", ".join(f"{name} {value}" for name, value in row["key"].items())
        if row["row"] == "changed":
            cells = (f"{name} {row['before'][name]} → {row['after'][name]}" for name in row["before"])
        else:
            cells = (f"{name} {value}" for name, value in (row["before"] or row["after"]).items())
        yield f"  {row['row']}: {key}: {cut(', '.join(cells))}"


def _markdown_table(head: list[str], rows: list[list]) -> list[str]:
    lines = [head, ["---", *("--:" for _ in head[1:])], *rows]
    return [f"| {' | '.join(_escaped(str(cell)) for cell in line)} |" for line in lines]


def _escaped(words: str) -> str:
    """Without what Markdown or HTML would take for its own."""
    for sign in "\\`*_[]|":
        words = words.replace(sign, f"\\{sign}")
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
