"""How far a render is, on stderr: a bar for who watches, a line now and then for a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG_EVERY_S = 30.0


@contextmanager
def progress_bar(length: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Yields what to call with the number of images done since the last call."""
    if not shown or not length:
        yield lambda count: None
        return
    import click

    begin = last = time.monotonic()
    done = 0

    def rate() -> str:
        return f"{done / max(time.monotonic() - begin, 1e-9):.1f} images/s"

    if not sys.stderr.isatty():

        def log(count: int) -> None:
            nonlocal done, last
            done += count
            if time.monotonic() - last >= LOG_EVERY_S:
                last = time.monotonic()
                click.echo(f"rendered {done:,} of {length:,}, {rate()}", err=True)

        yield log
        return
    with click.progressbar(
        length=length, label="render", file=sys.stderr, item_show_func=lambda item: rate(), show_pos=True
    ) as bar:

        def step(count: int) -> None:
            nonlocal done
            done += count
            bar.update(count, done)

        yield step
