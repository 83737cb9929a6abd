"""The command `diff`: which two sides, in which format, within which budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from warehouse.contracts import stamped
from warehouse.diff.result import Budget, Difference
from warehouse.errors import CheckFailed, HomeError, UsageError
from warehouse.home import Home

FORMATS = ("text", "json", "markdown", "junit")


def find(home: Home, names: Sequence[str], since: str | None) -> Difference:
    """Two versions (``names`` are A and B), or the working tree since a revision (``names`` are tasks)."""
    if since is not None:
        from warehouse.diff.since import diff_since

        return diff_since(home, since, names)
    if len(names) != 2:
        raise UsageError(
            f"found {len(names)} names; expected A and B, or --since REV",
            "for instance `diff vitaldb.normal_context@0 @1`, or `diff --since main`",
        )
    from warehouse.diff.versions import diff

    return diff(home, *names)


def render(found: Difference, format: str, shown: int, budget: Budget | None) -> str:
    if format == "json":
        return json.dumps(as_json(found, budget), ensure_ascii=False, allow_nan=False)
    if format == "junit":
        from warehouse.diff.junit import as_junit

        return as_junit(found, shown, budget)
    from warehouse.diff import text

    return text.as_markdown(found, shown, budget) if format == "markdown" else text.as_text(found, shown)


def as_json(found: Difference, budget: Budget | None) -> dict:
    """The difference, with ``budget``: what is allowed, and the tasks beyond it."""
    beyond = [task.name for task in found.beyond(budget)] if budget else []
    return stamped(
        "diff", {**found.as_json(), "budget": budget and {"max_flips": budget.text, "beyond": beyond}}
    )


def write(found: Difference, parquet: Path | None) -> None:
    if parquet is not None:
        found.write_flips(parquet)


def hold(found: Difference, budget: Budget | None) -> None:
    """Raises CheckFailed for tasks beyond the budget, HomeError where no task is built to count flips in."""
    if budget is None:
        return
    if found.not_built and not found.tasks:
        raise HomeError(
            f"--max-flips {budget.text}: found no build of {', '.join(found.not_built)}, which read what differs; "
            "expected one at least, to count flips in",
            "load the data set and run `materialize` before `diff`",
        )
    beyond = found.beyond(budget)
    if beyond:
        listed = ", ".join(f"{task.name} ({task.differing:,})" for task in beyond)
        raise CheckFailed(f"more instances differ than --max-flips {budget.text} allows: {listed}")
