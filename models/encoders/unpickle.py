"""A reader of pickles that cannot run anything: no import, no call of what a file names, no attribute that is set.

Pickle is a small stack language in which a file names a function and has it called. Here a name is only looked up in
a table of builders of our own (`Builder`); any other name becomes a `Name`, and what the file makes of it a `Stub`
that keeps arguments, state and items and does nothing with them (`models.encoders.stubs`).
The instructions are those of Python's own `pickletools`, protocols 0 to 5. No torch here.
"""

from __future__ import annotations

import io
import pickletools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from models.encoders.card import EncoderError
from models.encoders.stubs import Name, Stub


class PickleError(EncoderError):
    """A pickle that is cut off, damaged, or asks for what no checkpoint needs."""


@dataclass(frozen=True)
class Builder:
    """The one thing that a file may have called: a function of ours, which checks its arguments."""

    name: str
    function: Callable[..., Any]


_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "numpy._core": "numpy.core"}
_NO_CLASS = frozenset({"builtins.object", "torch.Tensor", "torch.nn.parameter.Parameter", "numpy.dtype"})
"""Names that are known and stay without a function; not worth a report."""


def whole_name(module: str, name: str) -> str:
    """``module.name``, with Python 2's and NumPy 2's modules by their common names."""
    for old, new in _RENAMED.items():
        if module == old or module.startswith(f"{old}."):
            module = new + module[len(old) :]
    return f"{module}.{name}"


class Reader:
    """Reads pickles one after another; ``stubs`` are the names that were not looked up.

    ``builders``: name → `Builder`, or a constant such as a dtype. ``persistent``: what stands behind a persistent id.
    """

    def __init__(self, builders: Mapping[str, Any], persistent: Callable[[Any], Any]) -> None:
        self.builders = {**BUILDERS, **builders}
        self.persistent = persistent
        self.stubs: set[str] = set()

    def read(self, source: bytes | IO[bytes]) -> Any:
        """The next value of a stream, which then stands behind it. PickleError for anything but a whole pickle."""
        stream = io.BytesIO(source) if isinstance(source, bytes) else source
        machine = _Machine(self)
        try:
            for opcode, argument, position in pickletools.genops(stream):
                machine.position = position
                if opcode.name == "STOP":
                    return machine.stack.pop()
                machine.step(opcode.name, argument)
        except PickleError:
            raise
        except MemoryError as error:
            raise PickleError(
                f"a pickle that asks for too much memory, at byte {machine.position}"
            ) from error
        except Exception as error:  # any damage: a stack that is empty, a length beyond the end, no UTF-8 …
            what = str(error)[:200] or type(error).__name__
            raise PickleError(
                f"a pickle that is cut off or damaged after byte {machine.position} ({what})"
            ) from error
        raise PickleError("a pickle without an end")

    def named(self, module: Any, name: Any) -> Any:
        if not (isinstance(module, str) and isinstance(name, str)):
            raise PickleError("a name that is no text")
        whole = whole_name(module, name)
        if whole in self.builders:
            return self.builders[whole]
        if whole not in _NO_CLASS:
            self.stubs.add(whole)
        return Name(whole)


_MARK = object()


class _Machine:
    """The stack, the memo, and what each instruction does to them."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.position = 0

    def step(self, name: str, argument: Any) -> None:
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _MADE:
            self.stack.append(_MADE[name]())
        elif name.startswith("TUPLE") and name != "TUPLE":
            self.stack[-int(name[-1]) :] = [tuple(self.stack[-int(name[-1]) :])]
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self.memo[argument])
        elif name not in ("PROTO", "FRAME"):
            action = getattr(self, f"_{name.lower()}", None)
            if action is None:
                raise PickleError(f"the instruction {name}, which no checkpoint needs")
            action(argument) if name in _WITH_ARGUMENT else action()

    def _mark(self) -> None:
        self.stack.append(_MARK)

    def _popped(self) -> list[Any]:
        """What stands above the last mark, taken off together with it."""
        place = next(place for place in range(len(self.stack) - 1, -1, -1) if self.stack[place] is _MARK)
        above = self.stack[place + 1 :]
        del self.stack[place:]
        return above

    def _pop(self) -> None:
        self.stack.pop()

    def _pop_mark(self) -> None:
        self._popped()

    def _dup(self) -> None:
        self.stack.append(self.stack[-1])

    def _memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def _tuple(self) -> None:
        self.stack.append(tuple(self._popped()))

    def _list(self) -> None:
        self.stack.append(self._popped())

    def _dict(self) -> None:
        made: dict[Any, Any] = {}
        _put(made, self._popped())
        self.stack.append(made)

    def _frozenset(self) -> None:
        self.stack.append(frozenset(map(_key, self._popped())))

    def _append(self) -> None:
        value = self.stack.pop()
        _extend(self.stack[-1], [value])

    def _appends(self) -> None:
        values = self._popped()
        _extend(self.stack[-1], values)

    def _setitem(self) -> None:
        pair = self.stack[-2:]
        del self.stack[-2:]
        _put(self.stack[-1], pair)

    def _setitems(self) -> None:
        pairs = self._popped()
        _put(self.stack[-1], pairs)

    def _additems(self) -> None:
        values = self._popped()
        if isinstance(self.stack[-1], set):
            self.stack[-1].update(map(_key, values))
        else:
            _extend(self.stack[-1], values)

    def _persid(self, argument: str) -> None:
        self.stack.append(self.reader.persistent(argument))

    def _binpersid(self) -> None:
        self.stack.append(self.reader.persistent(self.stack.pop()))

    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self.stack.append(self.reader.named(module, name))

    def _stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(self.reader.named(module, name))

    def _ext(self, argument: int) -> None:
        self.stack.append(self.reader.named("copyreg", f"extension {argument}"))

    _ext1 = _ext2 = _ext4 = _ext

    def _inst(self, argument: str) -> None:
        args = tuple(self._popped())
        self._global(argument)
        self.stack.append(_called(self.stack.pop(), args))

    def _obj(self) -> None:
        made, *args = self._popped()
        self.stack.append(_called(made, tuple(args)))

    def _reduce(self) -> None:
        args, made = self.stack.pop(), self.stack.pop()
        self.stack.append(_called(made, args))

    _newobj = _reduce

    def _newobj_ex(self) -> None:
        named, args, made = self.stack.pop(), self.stack.pop(), self.stack.pop()
        stub = Stub(_called_name(made), args if isinstance(args, tuple) else (args,))
        stub.take_state(named)
        self.stack.append(stub)

    def _build(self) -> None:
        """State is kept by a stub; a dictionary, a tensor or anything that is not the file's own takes none."""
        state = self.stack.pop()
        if isinstance(self.stack[-1], Stub):
            self.stack[-1].take_state(state)


_VALUES = frozenset(
    each.name
    for each in pickletools.opcodes
    if each.arg and not each.stack_before and each.stack_after not in ([], [pickletools.anyobject])
)
"""The instructions that push what stands behind them: numbers, text, bytes."""

_MADE: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}
_WITH_ARGUMENT = frozenset({"PERSID", "GLOBAL", "INST", "EXT1", "EXT2", "EXT4"})


def _called(made: Any, args: Any) -> Any:
    args = args if isinstance(args, tuple) else (args,)
    if not isinstance(made, Builder):
        return Stub(_called_name(made), args)
    try:
        return made.function(*args)
    except EncoderError:
        raise
    except Exception as error:
        raise PickleError(
            f"a call of {made.name} with arguments that it does not take ({str(error)[:200]})"
        ) from error


def _called_name(made: Any) -> str:
    return made.name if isinstance(made, (Name, Builder, Stub)) else type(made).__name__


def _key(value: Any) -> Any:
    """No tuple of tuples may be a key: its hash is not kept, so that some would take for ever."""
    if isinstance(value, tuple) and any(isinstance(each, tuple) for each in value):
        raise PickleError("a tuple of tuples as a key")
    return value


def _put(target: Any, pairs: list[Any]) -> None:
    held = target.items if isinstance(target, Stub) else target
    if not isinstance(held, dict) or len(pairs) % 2:
        raise PickleError(f"items of a {type(target).__name__}")
    held.update(zip(map(_key, pairs[::2]), pairs[1::2], strict=True))


def _extend(target: Any, values: list[Any]) -> None:
    held = target.entries if isinstance(target, Stub) else target
    if not isinstance(held, list):
        raise PickleError(f"entries of a {type(target).__name__}")
    held.extend(values)


def _dictionary(*args: Any) -> dict[Any, Any]:
    """OrderedDict() and defaultdict(factory); items follow, or come as pairs (Python 2) or a dictionary."""
    made: dict[Any, Any] = {}
    for given in args:
        if isinstance(given, dict):
            made.update(given)
        elif isinstance(given, (list, tuple)):
            _put(made, [each for key, value in given for each in (key, value)])
    return made


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """How protocol 2 writes bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "utf-8", "ascii"):
        raise ValueError("no text in latin1")
    return text.encode(encoding)


def _number(dtype: Any, content: bytes) -> int | float | bool:
    """A NumPy scalar as Python's number."""
    import numpy

    code = dtype.args[0] if isinstance(dtype, Stub) and dtype.name == "numpy.dtype" and dtype.args else None
    if not isinstance(code, str) or not re.fullmatch("[fiub][1248]", code) or not isinstance(content, bytes):
        raise ValueError("no number")
    if isinstance(dtype.raw_state, tuple) and ">" in dtype.raw_state:
        raise ValueError("a big-endian number")
    return numpy.frombuffer(content, dtype=f"<{code}", count=1)[0].item()


BUILDERS: dict[str, Any] = {
    name: Builder(name, function)
    for name, function in {
        "collections.OrderedDict": _dictionary,
        "collections.defaultdict": _dictionary,
        "builtins.dict": _dictionary,
        "builtins.list": lambda values=(): list(values) if isinstance(values, (list, tuple)) else [],
        "builtins.tuple": lambda values=(): tuple(values) if isinstance(values, (list, tuple)) else (),
        "builtins.set": lambda values=(): set(map(_key, values)),
        "builtins.frozenset": lambda values=(): frozenset(map(_key, values)),
        "builtins.complex": lambda real=0.0, imaginary=0.0: complex(float(real), float(imaginary)),
        "_codecs.encode": _encode,
        "numpy.core.multiarray.scalar": _number,
    }.items()
}
"""What is harmless and found in checkpoints beside tensors."""
