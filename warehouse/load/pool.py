"""Work for several processes or threads, results in the order of the jobs."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

AHEAD = 4
"""So many jobs a worker are under way or waiting to be taken: results in memory stay few."""


@contextmanager
def mapper(
    workers: int, jobs: int, preload: Sequence[str] = ()
) -> Iterator[Callable[[Callable[[Job], Result], Sequence[Job]], Iterator[Result]]]:
    """``map`` over a pool of up to ``workers`` processes, in this process where that is one.

    Processes begin with the modules ``preload`` and with nothing of ours: no thread or lock is inherited.
    """
    if min(workers, jobs) <= 1:
        yield map
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    with ExitStack() as stack:
        pool = stack.enter_context(
            ProcessPoolExecutor(min(workers, jobs), mp_context=context, initializer=_leave_interrupts)
        )
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        yield lambda function, items: _in_batches(pool, function, items, AHEAD * workers)


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; what it means is the first one's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def threads(
    workers: int, jobs: int
) -> Iterator[Callable[[Callable[[Job], Result], Sequence[Job]], Iterator[Result]]]:
    """The same over threads, which begin at once: for work that is over before processes have started."""
    if min(workers, jobs) <= 1:
        yield map
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(min(workers, jobs))
    try:
        yield lambda function, items: _in_batches(pool, function, items, AHEAD * workers)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_batches(pool, function: Callable, items: Sequence, size: int) -> Iterator:
    waiting: deque = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) >= size:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
