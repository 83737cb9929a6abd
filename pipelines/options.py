"""Several click options as one decorator of a command; which they are, a stage's own `options.py` says."""

from __future__ import annotations

from collections.abc import Callable


def joined(*options: Callable) -> Callable[[Callable], Callable]:
    """One decorator of several, which `--help` lists in this order."""

    def decorate(function: Callable) -> Callable:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
