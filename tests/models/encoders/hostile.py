"""What an attacker pickles: each makes a folder, its marker, when it is loaded by Python's own unpickler. And files of
torch's two forms, written by hand."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch


class Calls:
    """Pickled as a call of ``function(*args)``, which then takes a state, entries and items."""

    def __init__(
        self,
        function: Callable,
        *args: Any,
        state: Any = None,
        entries: Iterable[Any] | None = None,
        items: Iterable[tuple[Any, Any]] | None = None,
    ) -> None:
        self.parts = (function, args, state, entries and iter(entries), items and iter(items))

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts

    def __call__(self) -> None:
        """Never called: pickle wants the first part of a call to look callable."""


class TakesState:
    def __setstate__(self, state: dict[str, str]) -> None:
        os.mkdir(state["marker"])  # noqa: PTH102


class TakesItems(dict):
    def __setitem__(self, key: str, value: str) -> None:
        os.mkdir(value)  # noqa: PTH102


class TakesEntries(list):
    def append(self, value: str) -> None:
        os.mkdir(value)  # noqa: PTH102

    def extend(self, values: list[str]) -> None:
        os.mkdir(values[0])  # noqa: PTH102


class IsNew:
    def __new__(cls, marker: str = "", *, named: str = "") -> IsNew:
        os.mkdir(marker or named)  # noqa: PTH102
        return super().__new__(cls)


def nested(marker: str) -> bytes:
    stream = io.BytesIO()
    torch.save(Calls(os.mkdir, marker), stream)
    return stream.getvalue()


OBJECTS: dict[str, Callable[[str], Any]] = {
    "os.system": lambda marker: Calls(os.system, f"mkdir {marker}"),
    "subprocess": lambda marker: Calls(subprocess.check_call, ["mkdir", marker]),
    "eval": lambda marker: Calls(eval, f"__import__('os').mkdir({marker!r})"),
    "exec": lambda marker: Calls(exec, f"import os; os.mkdir({marker!r})"),
    "an iterator": lambda marker: Calls(list, Calls(map, os.mkdir, [marker])),
    "getattr of an import": lambda marker: Calls(Calls(getattr, Calls(__import__, "os"), "mkdir"), marker),
    "state": lambda marker: Calls(TakesState, state={"marker": marker}),
    "entries": lambda marker: Calls(TakesEntries, entries=[marker]),
    "items": lambda marker: Calls(TakesItems, items=[("key", marker)]),
    "a file in the file": lambda marker: Calls(torch.storage._load_from_bytes, nested(marker)),
    "a tensor of a kind": lambda marker: Calls(
        torch._tensor._rebuild_from_type_v2, os.mkdir, torch.Tensor, (marker,), {}
    ),
}
"""Marker → what is pickled."""


def _text(value: str) -> bytes:
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


HERE = __name__.encode()
STREAMS: dict[str, Callable[[str], bytes]] = {
    "REDUCE": lambda marker: b"cos\nmkdir\n(" + _text(marker) + b"tR.",
    "INST": lambda marker: b"(" + _text(marker) + b"ios\nmkdir\n.",
    "OBJ": lambda marker: b"(cos\nmkdir\n" + _text(marker) + b"o.",
    "NEWOBJ": lambda marker: b"\x80\x02c" + HERE + b"\nIsNew\n(" + _text(marker) + b"t\x81.",
    "NEWOBJ_EX": lambda marker: (
        b"\x80\x04c" + HERE + b"\nIsNew\n)}" + _text("named") + _text(marker) + b"s\x92."
    ),
    "a name in a name": lambda marker: (
        b"\x80\x04" + _text("shutil") + _text("os.mkdir") + b"\x93(" + _text(marker) + b"tR."
    ),
    "EXT1": lambda marker: b"\x80\x02\x82\xf0(" + _text(marker) + b"tR.",
    "state of a class": lambda marker: (
        b"\x80\x02c" + HERE + b"\nTakesState\n)\x81}" + _text("marker") + _text(marker) + b"sb."
    ),
}
"""The instructions that call, one by one. EXT1 takes 0xf0 for ``os.mkdir`` (the test registers it)."""


class Here:
    """Pickled as a persistent id, which may be any value."""

    def __init__(self, identity: Any) -> None:
        self.identity = identity


def pickled(value: Any) -> bytes:
    """As torch pickles it."""

    class Pickler(pickle.Pickler):
        def persistent_id(self, each: Any) -> Any:
            return each.identity if isinstance(each, Here) else None

    stream = io.BytesIO()
    Pickler(stream, 2).dump(value)
    return stream.getvalue()


def write(path: Path, form: str, source: bytes, storages: dict[str, bytes], item: int = 4) -> Path:
    """``form``: zip or legacy; ``storages``: key → bytes of numbers that have ``item`` bytes each.

    In a zip each lies at a multiple of 64 bytes, as torch has it.
    """
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", source)
            archive.writestr("archive/version", "3\n")
            for key, content in storages.items():
                begin = archive.fp.tell() + 30 + len(f"archive/data/{key}")
                member = zipfile.ZipInfo(f"archive/data/{key}")
                member.extra = b"FB" + ((-begin - 4) % 64).to_bytes(2, "little") + b"\0" * ((-begin - 4) % 64)
                archive.writestr(member, content)
        return path
    system = {
        "protocol_version": 1001,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    parts = [pickle.dumps(each, 2) for each in (0x1950A86A20F9469CFC6C, 1001, system)]
    parts += [source, pickle.dumps(sorted(storages), 2)]
    for key in sorted(storages):
        parts += [(len(storages[key]) // item).to_bytes(8, "little"), storages[key]]
    path.write_bytes(b"".join(parts))
    return path


@contextmanager
def passing(name: str, **classes: type) -> Iterator[None]:
    """A module that is there while a file is written and gone when it is read."""
    module = types.ModuleType(name)
    for class_name, each in classes.items():
        each.__module__, each.__qualname__ = name, class_name
        setattr(module, class_name, each)
    sys.modules[name] = module
    yield
    del sys.modules[name]
