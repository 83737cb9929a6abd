"""What stands for a class that a file names and nobody runs, and the plain values in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from models.encoders.card import EncoderError


@dataclass(frozen=True)
class Name:
    """A function or class that a file names and nobody looked up."""

    name: str


@dataclass(eq=False)
class Stub:
    """What a file would have made of a name: it keeps what it was given."""

    name: str
    args: tuple[Any, ...] = ()
    state: dict[Any, Any] = field(default_factory=dict)
    items: dict[Any, Any] = field(default_factory=dict)
    entries: list[Any] = field(default_factory=list)
    raw_state: Any = None

    def take_state(self, state: Any) -> None:
        self.raw_state = state
        for part in state if isinstance(state, tuple) else (state,):
            if isinstance(part, dict):
                self.state.update(part)


_RUN = frozenset(
    (
        "os",
        "posix",
        "nt",
        "subprocess",
        "sys",
        "shutil",
        "socket",
        "importlib",
        "runpy",
        "pty",
        "ctypes",
        "code",
        "codeop",
        "pdb",
        "webbrowser",
        "urllib",
        "http",
    )
)
"""Modules with which a file would do something on the machine that reads it."""
_RUN_BUILTINS = frozenset(
    f"builtins.{name}" for name in ("eval", "exec", "compile", "open", "__import__", "input", "breakpoint")
)


def needless(names: Iterable[str]) -> list[str]:
    """Those of the named functions and classes that no checkpoint needs, and an attack does."""
    return [name for name in names if name.partition(".")[0] in _RUN or name in _RUN_BUILTINS]


def plain(value: Any) -> Any:
    """Stubs as what they hold: a namespace or a dataclass as a dictionary, an omegaconf node or an enumeration as its
    value, a name as text. What is not a stub stays. EncoderError for what is nested without end."""
    try:
        return _plain(value, {})
    except RecursionError as error:
        raise EncoderError("found a configuration that is nested too deep to be one") from error


def _plain(value: Any, done: dict[int, Any]) -> Any:
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, Name):
        return value.name
    if isinstance(value, Stub):
        return _plain_stub(value, done)
    if isinstance(value, dict):
        return _fill(value, value, done)
    if isinstance(value, list):
        made: list[Any] = []
        done[id(value)] = made
        made.extend(_plain(each, done) for each in value)
        return made
    if isinstance(value, tuple):
        done[id(value)] = made_tuple = tuple(_plain(each, done) for each in value)
        return made_tuple
    return value


def _plain_stub(stub: Stub, done: dict[int, Any]) -> Any:
    done[id(stub)] = None  # a stub that holds itself
    for inside in ("_content", "_val"):  # omegaconf's containers and nodes
        if inside in stub.state:
            done[id(stub)] = found = _plain(stub.state[inside], done)
            return found
    if stub.state or stub.items:
        return _fill(stub, {**stub.items, **stub.state}, done)
    found = [_plain(each, done) for each in stub.entries or stub.args]
    done[id(stub)] = found[0] if len(found) == 1 and not stub.entries else found
    return done[id(stub)]


def _fill(origin: Any, fields: dict[Any, Any], done: dict[int, Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    done[id(origin)] = made
    for key, each in fields.items():
        made[key.name if isinstance(key, (Name, Stub)) else key] = _plain(each, done)
    return made
