"""``demo``: a small synthetic release, the ordinary commands on it, and one page.

The commands are run by a callable from the command line, with the words that a user can type: what stands
behind a ``$`` is what ran.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from pipelines.report import MADE, synthetic, write_report
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home, write_text, writing

DATASET = "vitaldb-arrhythmia"
TASK = "vitaldb-arrhythmia-abnormal"
BASELINES = ("prior", "rr-detected")
REPORT = "report.html"


def run_demo(
    home: Home,
    *,
    cases: int = 24,
    seconds: int = 240,
    seed: int = 0,
    invoke: Callable[[list[str]], object],
    out: Path | None = None,
    echo: Callable[[str], None] = print,
) -> Path:
    """Walk the whole street on ``cases`` made-up cases of ``seconds`` s; returns the page's file.

    ``invoke`` runs one of our commands from its words and returns its exit code (None counts as 0). The release
    lies in ``<home>/demo/release``, the page in ``<home>/demo/report.html`` where ``out`` is None. The same
    arguments give the same numbers. Raises UsageError when the home already holds another release, which a load
    would replace, CheckFailed when a command does not end well.
    """
    release = home.path / "demo" / "release"
    _refuse_to_replace(home)
    program, data = _program(), _data(home)

    def step(words: str, *args: str | Path) -> None:
        line = [str(_near(arg)) for arg in args] + data
        echo(f"\n# {words}\n$ {program} {shlex.join(line)}")
        sys.stdout.flush()
        code = invoke(line)
        if code:
            raise CheckFailed(f"demo: `{shlex.join(line)}` ended with exit code {code}; expected 0")

    echo(f"# {cases} synthetic cases of {seconds} s, in the real file formats: {_near(release)}")
    _make(home, release, cases=cases, seconds=seconds, seed=seed)
    try:
        step("Raw files become Parquet; what breaks the contract is rejected.", *_load(release))
    finally:
        _note(home, cases=cases, seconds=seconds, seed=seed)
    step("The label rules, SQL views, become Parquet as well.", "materialize")
    step("How many segments carry which label, in each part?", "counts", TASK)
    step("Queries that must return no rows.", "audit", TASK)
    made = [(name, release.parent / f"{name}.parquet") for name in BASELINES]
    for name, file in made:
        step(f"Predictions of the baseline {name}.", "baseline", TASK, name, "--out", file)
    (_, first), *others = made
    step("What a score must beat.", "score", TASK, first)
    for name, file in others:
        step(f"{name}, and its paired difference from it.", "score", TASK, file, "--against", first)
    step("All runs, best first.", "leaderboard", TASK)
    page = write_report(home, TASK, out or release.parent / REPORT)
    echo(_next(page, program, data))
    return page


def _load(release: Path) -> list[str | Path]:
    return ["load", DATASET, release, "--signals", release / "vital"]


def _make(home: Home, release: Path, *, cases: int, seconds: int, seed: int) -> None:
    """Write the release anew: a case of an earlier, longer one must not stay behind."""
    from warehouse.synthetic import write_vitaldb_release

    with writing(home.path):
        shutil.rmtree(release, ignore_errors=True)
        release.mkdir(parents=True)
        write_vitaldb_release(release, cases=cases, seconds=seconds, seed=seed)


def _refuse_to_replace(home: Home) -> None:
    from warehouse.load.report import read_report

    report = read_report(home, DATASET)
    if report is not None and synthetic(home, report) is None:
        raise UsageError(
            f"{home.path}: found a loaded {DATASET}, {report['release']['name'] or report['release']['sha256'][:12]}; "
            "expected a home without one, because the demo would load over it",
            "pass another --data DIR",
        )


def _note(home: Home, **made: int) -> None:
    """Remember which release was made up, so that a page of it can say so and the next demo may replace it."""
    from warehouse.load.report import read_report

    report = read_report(home, DATASET)
    if report is not None and synthetic(home, report) is None:
        with writing(home.path):
            write_text(home.path / MADE, json.dumps({"release": report["release"]["sha256"], **made}) + "\n")


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


def _next(page: Path, program: str, data: list[str]) -> str:
    more = [
        ["counts", TASK, "--by", "rhythms"],
        ["sql", "SELECT * FROM vitaldb.segment_evidence WHERE NOT accepted LIMIT 10"],
        ["cite", TASK],
    ]
    lines = "\n".join(f"  {program} {shlex.join(args + data)}" for args in more)
    return (
        f"\n# The page of all this, with example segments on ECG paper: open it in a browser\n  {_near(page)}\n"
        f"\n# Go on from here\n{lines}\n"
        "\nThe hearts are made up: the numbers show how the street works, nothing else."
    )
