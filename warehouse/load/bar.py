"""A progress bar on stderr for loads that take long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(length: int, label: str, shown: bool) -> Iterator[Callable[[int], object] | None]:
    """Yields what to call with the number of steps done, or None when no bar is wanted or nobody watches."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    import click

    with click.progressbar(length=length, label=label, file=sys.stderr) as progress:
        yield progress.update
