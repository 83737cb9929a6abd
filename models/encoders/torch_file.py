"""What ``torch.save`` wrote, read without torch's unpickler: the zip form, and the pickles of before torch 1.6.

`models.encoders.unpickle` reads the pickle; here are the builders of tensors, which check what they are given, and
where the numbers lie. Tensors of a zip are views of the mapped file: nothing is read that is not used.
"""

from __future__ import annotations

import mmap
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch

from models.encoders.archive import begin
from models.encoders.stubs import Stub
from models.encoders.unpickle import Builder, PickleError, Reader

MAGIC = 0x1950A86A20F9469CFC6C
"""The first pickle of the old form."""

_STORAGES = {
    "DoubleStorage": torch.float64,
    "FloatStorage": torch.float32,
    "HalfStorage": torch.float16,
    "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64,
    "IntStorage": torch.int32,
    "ShortStorage": torch.int16,
    "CharStorage": torch.int8,
    "ByteStorage": torch.uint8,
    "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64,
    "ComplexDoubleStorage": torch.complex128,
}
_DTYPES = {str(each): each for each in vars(torch).values() if isinstance(each, torch.dtype)}


@dataclass(frozen=True)
class _StorageType:
    dtype: torch.dtype


@dataclass(frozen=True, eq=False)
class _Storage:
    """``flat``: all its numbers, one dimension."""

    flat: torch.Tensor


def read_zip(path: Path) -> tuple[Any, set[str]]:
    """The value in a torch zip, and the names that were not looked up. PickleError for a damaged file."""
    with zipfile.ZipFile(path) as members:
        file = _Zip(path, members)
        reader = Reader(_builders(), file.persistent)
        value = reader.read(file.text(f"{file.root}data.pkl"))
    return value, reader.stubs


def zip_root(names: list[str]) -> str | None:
    """The folder of ``data.pkl`` inside a torch zip, with its slash; None where there is none."""
    return next(
        (name.removesuffix("data.pkl") for name in names if name == "data.pkl" or name.endswith("/data.pkl")),
        None,
    )


def read_legacy(path: Path) -> tuple[Any, set[str]]:
    """The same of the old form: five pickles, then the storages one after another."""
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as stream:
        file = _Legacy(len(stream))
        reader = Reader(_builders(), file.persistent)
        if reader.read(stream) != MAGIC:
            raise PickleError("a pickle that torch.save did not write")
        reader.read(stream)  # the version of the form, which never changed
        system = reader.read(stream)
        if isinstance(system, dict) and system.get("little_endian") is False:
            raise PickleError("numbers of a big-endian machine")
        value = reader.read(stream)
        keys = reader.read(stream)
        handle.seek(stream.tell())
        file.fill(keys, handle)
    return value, reader.stubs


class _Zip:
    def __init__(self, path: Path, members: zipfile.ZipFile) -> None:
        self.members = members
        self.root = zip_root(members.namelist()) or ""
        mapped = torch.UntypedStorage.from_file(str(path), False, path.stat().st_size)
        self.content = torch.empty(0, dtype=torch.uint8).set_(mapped)
        self.view = memoryview(self.content.numpy())
        self.read: dict[str, torch.Tensor] = {}
        order = f"{self.root}byteorder"
        if order in members.namelist() and self.text(order) != sys.byteorder.encode():
            raise PickleError("numbers of a machine with another byte order")

    def persistent(self, identity: Any) -> _Storage:
        dtype, key, numel, _ = _storage_identity(identity)
        nbytes = numel * dtype.itemsize
        if key not in self.read:
            self.read[key] = self._bytes(f"{self.root}data/{key}")
        found = self.read[key]
        if len(found) < nbytes:
            raise PickleError(f"{len(found)} bytes in the storage {key}, where {nbytes} belong")
        return _Storage(_as(found[:nbytes], dtype))

    def text(self, name: str) -> bytes:
        """A member as it is; its checksum is compared elsewhere (`models.encoders.archive`)."""
        return self._bytes(name).numpy().tobytes()

    def _bytes(self, name: str) -> torch.Tensor:
        try:
            member = self.members.getinfo(name)
        except KeyError as error:
            raise PickleError(f"no {name} among its members") from error
        if member.compress_type != zipfile.ZIP_STORED:
            return torch.frombuffer(bytearray(self.members.read(name)) or bytearray(1), dtype=torch.uint8)[
                : member.file_size
            ]
        start = begin(self.view, member)
        return self.content[start : start + member.file_size]


class _Legacy:
    """Storages are made when the pickle names them and filled when it is read."""

    def __init__(self, size: int) -> None:
        self.left = size
        self.size = size
        self.made: dict[str, torch.Tensor] = {}

    def persistent(self, identity: Any) -> Any:
        if isinstance(identity, tuple) and identity[:1] == ("module",) and len(identity) > 1:
            return identity[1]  # a class with its source text: the name is all that is taken
        dtype, key, numel, view = _storage_identity(identity)
        if key not in self.made:
            self.left -= numel * dtype.itemsize
            if self.left < 0:
                raise PickleError(
                    f"storages of more than the file's {self.size} bytes: it is cut off or damaged"
                )
            self.made[key] = torch.empty(numel, dtype=dtype)
        flat = self.made[key]
        if flat.dtype != dtype:
            raise PickleError(f"the storage {key} as {flat.dtype} and as {dtype}")
        if view is None:
            return _Storage(flat)
        _, offset, length = view
        if not _naturals((offset, length)) or offset + length > len(flat):
            raise PickleError(f"a part beyond the storage {key}")
        return _Storage(flat[offset : offset + length])

    def fill(self, keys: Any, handle: IO[bytes]) -> None:
        if not isinstance(keys, list) or {each for each in keys if isinstance(each, str)} != set(self.made):
            raise PickleError(f"{len(self.made)} storages in its tensors, and others behind them")
        for key in keys:
            flat = self.made[key]
            count = int.from_bytes(handle.read(8), "little")
            nbytes = flat.numel() * flat.dtype.itemsize
            there = handle.readinto(flat.view(torch.uint8).numpy()) if nbytes else 0
            if there < nbytes:
                raise PickleError(f"{there} bytes of the storage {key}, where {nbytes} belong: it is cut off")
            if count != flat.numel():
                raise PickleError(f"{count} numbers in the storage {key}, where {flat.numel()} belong")


def _storage_identity(identity: Any) -> tuple[torch.dtype, str, int, tuple[Any, ...] | None]:
    """dtype, key, count of numbers, and the part of an older storage; the device is not asked for."""
    if not isinstance(identity, tuple) or len(identity) not in (5, 6) or identity[0] != "storage":
        raise PickleError("a persistent id that is no storage's")
    _, kind, key, _, numel, *view = identity
    part = view[0] if view else None
    if not isinstance(kind, _StorageType) or not isinstance(key, str) or not _naturals((numel,)):
        raise PickleError("a storage without type, key or size")
    if part is not None and not (isinstance(part, tuple) and len(part) == 3):
        raise PickleError("a part of a storage without place or size")
    return kind.dtype, key, numel, part


def _as(content: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Bytes as numbers, in place where they lie as the dtype wants it."""
    whole = content if content.storage_offset() % dtype.itemsize == 0 else content.clone()
    return whole.view(dtype)


def _naturals(values: Any) -> bool:
    return isinstance(values, tuple) and all(type(each) is int and 0 <= each < 2**62 for each in values)


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> torch.Tensor:
    """A view of a storage, inside it."""
    if not isinstance(storage, _Storage) or not (
        _naturals((offset,)) and _naturals(size) and _naturals(stride)
    ):
        raise PickleError("a tensor without storage, size or stride")
    if len(size) != len(stride) or len(size) > 64:
        raise PickleError("a tensor with other sizes than strides")
    flat = storage.flat
    last = offset + sum((each - 1) * step for each, step in zip(size, stride, strict=True))
    if 0 not in size and last >= len(flat):
        raise PickleError(f"a tensor {size} beyond its storage of {len(flat)}")
    if 0 in size:
        return torch.empty(size, dtype=flat.dtype)
    return flat.as_strided(size, stride, flat.storage_offset() + offset)


def _tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *_: Any
) -> torch.Tensor:
    """The same of a storage of bytes, for dtypes that have no storage of their own."""
    if not isinstance(storage, _Storage) or not isinstance(dtype, torch.dtype):
        raise PickleError("a tensor without storage or dtype")
    return _tensor(_Storage(_as(storage.flat, dtype)), offset, size, stride)


def _parameter(data: Any, *_: Any) -> Any:
    if not isinstance(data, torch.Tensor):
        raise PickleError("a parameter that is no tensor")
    return data


def _from_type(function: Any, kind: Any, args: Any, *_: Any) -> Any:
    """A tensor with attributes or of a class of its own: the tensor alone, a stub where its kind is not read here."""
    known = (
        isinstance(function, Builder)
        and function.name.startswith("torch._utils.")
        and isinstance(args, tuple)
    )
    return (
        function.function(*args) if known else Stub("torch._tensor._rebuild_from_type_v2", (function, args))
    )


def _builders() -> dict[str, Any]:
    functions: dict[str, Callable[..., Any]] = {
        "torch._utils._rebuild_tensor": _tensor,
        "torch._utils._rebuild_tensor_v2": _tensor,
        "torch._utils._rebuild_tensor_v3": _tensor_v3,
        "torch._utils._rebuild_parameter": _parameter,
        "torch._utils._rebuild_parameter_with_state": _parameter,
        "torch._tensor._rebuild_from_type_v2": _from_type,
        "torch.Size": lambda sizes=(): tuple(sizes) if isinstance(sizes, (list, tuple)) else (),
        "torch.device": lambda *given: ":".join(str(each) for each in given if isinstance(each, (str, int))),
        "torch.serialization._get_layout": lambda name: name if isinstance(name, str) else "",
    }
    types: dict[str, Any] = {
        f"{module}.{name}": _StorageType(dtype)
        for name, dtype in _STORAGES.items()
        for module in ("torch", "torch.cuda", "torch.storage")
    }
    types |= dict.fromkeys(
        ("torch.storage.UntypedStorage", "torch.storage._UntypedStorage", "torch.UntypedStorage"),
        _StorageType(torch.uint8),
    )
    return {name: Builder(name, function) for name, function in functions.items()} | types | _DTYPES
