"""What is seen of a training while it works: a line an epoch and, where somebody watches, bars."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType

from warehouse.load.bar import bar


class Watch:
    """Lines and bars on stderr, a bar at a time; silent where not `shown`."""

    def __init__(self, *, shown: bool = False) -> None:
        self.shown = shown
        self._open = ExitStack()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def bar(self, label: str, length: int) -> Callable[[int], object]:
        """Begin a bar, the one before ends; returns what to call with the number of steps done."""
        self._open.close()
        update = self._open.enter_context(bar(length, label, self.shown))
        return update or (lambda steps: None)

    def say(self, text: str) -> None:
        self._open.close()
        if self.shown:
            print(text, file=sys.stderr, flush=True)
