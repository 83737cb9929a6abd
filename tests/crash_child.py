"""Runs a verb of the warehouse and dies at its n-th change of the disk; run by test_crash.py, not by pytest.

A change is every creation, write, rename, link or removal that Python's audit events show below the data home,
every fsync, and for a stored view the moments before, halfway through and after its Parquet file is written.
The process forks for each n, so that imports are paid once; it opens no DuckDB before, whose locks a fork would
copy. For every n it prints one JSON line:
{"n": …, "event": what it died at, or null when it lived}.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path

from warehouse import materialize as stage
from warehouse.home import Home
from warehouse.load import columns, raw, vitaldb_arrhythmia  # noqa: F401  (imported before the fork)
from warehouse.review import verdicts
from warehouse.views import Catalog

CHANGES = {"os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}


HANGS_S = 120
"""A child that has not ended by then is killed: a hang is a failure with a number, not a suite that stands still."""


class Dying:
    """Counts changes below ``home`` and leaves the process at the n-th."""

    def __init__(self, home: Path, n: int, pipe: int) -> None:
        self.home, self.n, self.pipe, self.seen = str(home), n, pipe, 0
        self.muted = False

    def __call__(self, event: str, args: tuple) -> None:
        if event == "open" and isinstance(args[0], str) and args[0].startswith(self.home):
            if args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.step(f"open {args[0]}")
        elif event in CHANGES and any(str(arg).startswith(self.home) for arg in args):
            self.step(f"{event} {args[0]}")

    def step(self, what: str) -> None:
        if self.muted:
            return
        self.seen += 1
        if self.seen == self.n:
            os.write(self.pipe, what.encode())
            os._exit(9)


def patch(dying: Dying) -> None:
    sys.addaudithook(dying)
    fsync, write_view, write_table = os.fsync, stage.write_view, raw.pq.write_table

    def dying_fsync(handle: int) -> None:
        dying.step("fsync before")
        fsync(handle)
        dying.step("fsync after")

    def dying_view(con, view, target: Path, *others) -> int:
        dying.step(f"{view.name} before")
        rows = write_view(con, view, target, *others)
        dying_half(dying, target)
        return rows

    def dying_table(table, target: Path, **options) -> None:
        dying.step(f"{target.name} before")
        write_table(table, target, **options)
        dying_half(dying, target)

    os.fsync, stage.write_view, raw.pq.write_table = dying_fsync, dying_view, dying_table


def dying_half(dying: Dying, target: Path) -> None:
    """Let the process die with half of the file on the disk, then with all of it."""
    if dying.seen + 1 == dying.n:
        dying.muted = True
        os.truncate(target, target.stat().st_size // 2)
        dying.muted = False
    dying.step(f"{target.name} half written")
    dying.step(f"{target.name} written")


def act(verb: str, home: Home, argument: Path) -> None:
    if verb == "materialize":
        stage.materialize(home, catalog=Catalog.read(argument))
    elif verb == "review":
        verdicts.import_csv(home, argument)
    else:
        vitaldb_arrhythmia.load(home, argument)


def main() -> None:
    verb, template, place, argument = sys.argv[1], *map(Path, sys.argv[2:5])
    start, stop = map(int, sys.argv[5:7])
    for n in range(start, stop):
        target = place / f"{verb}-{n}"
        shutil.copytree(template, target, symlinks=True)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(HANGS_S)
            patch(Dying(target, n, writer))
            act(verb, Home(target), argument)
            os._exit(0)
        os.close(writer)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reader) as pipe:
            event = pipe.read() or None
        code = os.waitstatus_to_exitcode(status)
        if code not in (0, 9):
            sys.exit(f"{verb} at {n} ended with {code}")
        print(json.dumps({"n": n, "event": event, "home": str(target)}), flush=True)
        if code == 0:
            break


if __name__ == "__main__":
    main()
