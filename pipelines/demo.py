"""``demo``: a small synthetic release, the ordinary commands on it, and one page.

The commands are run by a callable from the command line, with the words that a user can type: what stands
behind a ``$`` is what ran.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipelines.made_up import made_up, note
from pipelines.report import write_report
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home, writing


@dataclass(frozen=True)
class Street:
    """What the demo of a task walks on: its data set, what `load` is told, baselines, queries worth a look."""

    dataset: str
    task: str
    baselines: tuple[str, ...]
    what: str
    options: Callable[[Path], list[str | Path]] = lambda release: []
    queries: tuple[tuple[str, str], ...] = ()
    images: int = 0
    """So many images of the test part are rendered."""
    page: str | None = "report.html"
    """The file of its page; None for a task that has none yet."""
    more: tuple[tuple[str, ...], ...] = ()


STREETS = {
    street.task: street
    for street in (
        Street(
            dataset="vitaldb-arrhythmia",
            task="vitaldb-arrhythmia-abnormal",
            baselines=("prior", "rr-detected"),
            what="cases",
            options=lambda release: ["--signals", release / "vital"],
            more=(
                ("counts", "vitaldb-arrhythmia-abnormal", "--by", "rhythms"),
                ("sql", "SELECT * FROM vitaldb.segment_evidence WHERE NOT accepted LIMIT 10"),
            ),
        ),
        Street(
            dataset="lydus",
            task="lydus-ecg-image",
            baselines=("prior",),
            what="records",
            images=12,
            page="report-images.html",
            queries=(
                ("What would hedged findings add?", "SELECT * FROM lydus.hedged_would_add"),
                (
                    "Statement lines that no phrase explains: reported, never guessed.",
                    "SELECT * FROM lydus.unmapped_line ORDER BY lines DESC LIMIT 8",
                ),
            ),
            more=(
                ("sql", "SELECT * FROM lydus.agreement"),
                ("sql", "SELECT * FROM lydus.plausibility LIMIT 10"),
                ("prompt", "lydus-ecg-image"),
            ),
        ),
        Street(
            dataset="mitbih",
            task="ecg-heartbeat-arrhythmia",
            baselines=("prior",),
            what="records",
            page=None,
            queries=(
                (
                    "The segments of the public CSVs, and what the paper's own steps would cut.",
                    "SELECT * FROM mitbih.segment_count ORDER BY rule, class, reason",
                ),
                (
                    "The paper's balanced test part cannot be had without a leak.",
                    "SELECT * FROM mitbih.literal_balance",
                ),
            ),
            more=(
                ("materialize",),
                ("counts", "ecg-heartbeat-interpatient@1"),
                ("sql", "SELECT * FROM mitbih.rhythm_span LIMIT 10"),
                ("audit", "ecg-heartbeat-interpatient@0"),
            ),
        ),
    )
}


def run_demo(
    home: Home,
    *,
    task: str = "vitaldb-arrhythmia-abnormal",
    cases: int | None = None,
    seconds: int = 240,
    seed: int = 0,
    invoke: Callable[[list[str]], object],
    out: Path | None = None,
    echo: Callable[[str], None] = print,
) -> Path | None:
    """Walk the whole street of ``task`` on a made-up release; returns the page's file, None for a task without one.

    ``cases``: how many cases or records (24, 400 and all 19 where None), ``seconds``: how long a case is annotated.
    ``invoke`` runs one of our commands from its words and returns its exit code (None counts as 0). The release
    lies in ``<home>/demo/<data set>``, the page beside it where ``out`` is None. The same
    arguments give the same numbers. Raises UsageError for a task without a demo and when the home already holds
    another release, which a load would replace; CheckFailed when a command does not end well.
    """
    street = STREETS.get(task.split("@")[0])
    if street is None:
        raise UsageError(f"found no demo of {task}; expected one of: {', '.join(STREETS)}")
    task = street.task
    release = home.path / "demo" / street.dataset
    _refuse_to_replace(home, street)
    program, data = _program(), _data(home)

    def step(words: str, *args: str | Path) -> None:
        line = [str(_near(arg)) for arg in args] + data
        echo(f"\n# {words}\n$ {program} {shlex.join(line)}")
        sys.stdout.flush()
        code = invoke(line)
        if code:
            raise CheckFailed(f"demo: `{shlex.join(line)}` ended with exit code {code}; expected 0")

    made = _make(home, street, release, cases=cases, seconds=seconds, seed=seed)
    echo(f"# {made[street.what]} synthetic {street.what}, in the real file formats: {_near(release)}")
    try:
        step(
            "Raw files become Parquet; what breaks the contract is rejected.",
            *("load", street.dataset, release),
            *street.options(release),
        )
    finally:
        _note(home, street, made)
    step("The label rules, SQL views, become Parquet as well.", "materialize", task)
    step("How many records carry which label, in each part?", "counts", task)
    step("Queries that must return no rows.", "audit", task)
    for words, query in street.queries:
        step(words, "sql", query)
    if street.images:
        step(
            f"{street.images} paper images, as the Challenge's generator prints them.",
            *("render", task, "--part", "test", "--limit", str(street.images)),
        )
    files = [(name, release.parent / f"{task}-{name}.parquet") for name in street.baselines]
    for name, file in files:
        step(f"Predictions of the baseline {name}.", "baseline", task, name, "--out", file)
    (_, first), *others = files
    step("What a score must beat.", "score", task, first)
    for name, file in others:
        step(f"{name}, and its paired difference from it.", "score", task, file, "--against", first)
    step("All runs, best first.", "leaderboard", task)
    page = None
    if street.page is not None:
        page = write_report(home, task, out or release.parent / street.page)
    echo(_next(street, page, program, data))
    return page


def _make(home: Home, street: Street, release: Path, *, cases: int | None, seconds: int, seed: int) -> dict:
    """Write the release anew: a case or image of an earlier one must not stay behind. Returns what it was made of."""
    from warehouse.images import images_folder
    from warehouse.spec import find_spec
    from warehouse.synthetic import write_lydus_release, write_mitbih_release, write_vitaldb_release

    with writing(home.path):
        shutil.rmtree(release, ignore_errors=True)
        shutil.rmtree(images_folder(home, find_spec(street.task)), ignore_errors=True)
        release.mkdir(parents=True)
        if street.dataset == "lydus":
            made = {"records": cases or 400, "seed": seed}
            write_lydus_release(release, records=made["records"], seed=seed)
        elif street.dataset == "mitbih":
            names = write_mitbih_release(release, records=cases, seconds=seconds, seed=seed)
            made = {"records": len(names), "seconds": seconds, "seed": seed}
        else:
            made = {"cases": cases or 24, "seconds": seconds, "seed": seed}
            write_vitaldb_release(release, cases=made["cases"], seconds=seconds, seed=seed)
    return made


def _refuse_to_replace(home: Home, street: Street) -> None:
    from warehouse.load.report import read_report

    report = read_report(home, street.dataset)
    if report is not None and made_up(home, report) is None:
        raise UsageError(
            f"{home.path}: found a loaded {street.dataset}; expected a home without one, because the demo would "
            "load over it",
            "pass another --data DIR",
        )


def _note(home: Home, street: Street, made: dict) -> None:
    """Remember which release was made up, so that a page of it can say so and the next demo may replace it."""
    from warehouse.load.report import read_report

    report = read_report(home, street.dataset)
    if report is not None and made_up(home, report) is None:
        note(home, report, made)


def _program() -> str:
    """What to type for this program: its name where the shell finds it, else the checkout's file."""
    if shutil.which("leadhouse"):
        return "leadhouse"
    if Path(sys.argv[0]).name == "cli.py":
        return f"{_near(sys.executable)} {sys.argv[0]}"
    return "leadhouse"


def _data(home: Home) -> list[str]:
    """``--data DIR``, where DIR is not the default."""
    return [] if home == Home.resolve() else ["--data", str(_near(home.path))]


def _near(path: str | Path) -> str | Path:
    """A path below the working folder without what leads there; anything else as it is."""
    here = Path.cwd()
    if Path(path).is_absolute() and Path(path).is_relative_to(here):
        return os.path.relpath(path, here)
    return path


def _next(street: Street, page: Path | None, program: str, data: list[str]) -> str:
    more = [*street.more, ("cite", street.task), ("docs",)]
    lines = "\n".join(f"  {program} {shlex.join([*args, *data])}" for args in more)
    examples = "its images" if street.images else "example segments on ECG paper"
    shown = (
        ""
        if page is None
        else f"\n# The page of all this, with {examples}: open it in a browser\n  {_near(page)}\n"
    )
    return (
        f"{shown}"
        f"\n# Go on from here\n{lines}\n"
        "\nThe hearts are made up: the numbers show how the street works, nothing else."
    )
