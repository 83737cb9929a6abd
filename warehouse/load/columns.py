"""Arrow columns without pandas.

``pa.array`` and ``to_numpy`` import pandas when it is installed (0.4 CPU s and 40 MiB of a load that takes
one second), only to ask whether their argument is a pandas object. Ours never is: numbers and texts travel through
their buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def from_numbers(values: np.ndarray) -> pa.Array:
    """An Arrow array over (n,) numbers: int32, int64, float32 or float64, nothing copied, no nulls."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_TYPES[values.dtype.name], len(values), [None, pa.py_buffer(values)])


def to_numbers(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """The (n,) numbers of a column that has no nulls. Raises ValueError when it has."""
    if column.null_count:
        raise ValueError(f"{column.null_count} nulls in a column of numbers")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    views = [
        np.frombuffer(chunk.buffers()[1], dtype=_NAMES[chunk.type], count=len(chunk) + chunk.offset)[
            chunk.offset :
        ]
        for chunk in chunks
        if len(chunk)
    ]
    if not views:
        return np.empty(0, _NAMES[column.type])
    return np.concatenate(views) if len(views) > 1 else views[0]


def words_of(column: pa.ChunkedArray) -> list[str]:
    """The words of a dictionary column whose chunks have one dictionary, each once."""
    return column.chunk(0).dictionary.to_pylist() if column.num_chunks else []


def places_of(column: pa.ChunkedArray) -> np.ndarray:
    """The place (n,) int32 of each row's word in :func:`words_of`; of NULL -1."""
    places = [np.empty(0, np.int32)]
    for chunk in column.chunks:
        known, data = chunk.indices.buffers()
        found = np.frombuffer(data, np.int32)[chunk.offset :][: len(chunk)]
        places.append(found if known is None else np.where(_bits(known, chunk), found, np.int32(-1)))
    return np.concatenate(places)


def from_texts(values: Sequence[str | None]) -> pa.Array:
    """An Arrow array of texts that may hold anything, line feeds too; None and an empty text are NULL."""
    encoded = [value.encode(errors="backslashreplace") if value else b"" for value in values]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise ValueError(f"{offsets[-1]:,} bytes of text in one column")
    buffers = [_bitmap(lengths > 0), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def repeated(text: str, count: int) -> pa.DictionaryArray:
    """One text ``count`` times, stored once."""
    return pa.DictionaryArray.from_arrays(from_numbers(np.zeros(count, np.int32)), from_texts([text]))


def from_known(values: np.ndarray, known: np.ndarray) -> pa.Array:
    """As :func:`from_numbers`, NULL where ``known`` (n,) is False. ``values`` may be bool too."""
    values = np.ascontiguousarray(values)
    if values.dtype == bool:
        return pa.Array.from_buffers(pa.bool_(), len(values), [_bitmap(known), _bitmap(values)])
    data = pa.py_buffer(np.where(known, values, values.dtype.type(0)))
    return pa.Array.from_buffers(_TYPES[values.dtype.name], len(values), [_bitmap(known), data])


def from_bools(values: np.ndarray) -> pa.Array:
    """An Arrow array over (n,) bool, no nulls."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bitmap(values)])


def from_blocks(values: np.ndarray) -> pa.Array:
    """(n, k) int16 as n lists of k, nothing copied."""
    n, k = values.shape
    flat = pa.Array.from_buffers(pa.int16(), n * k, [None, pa.py_buffer(np.ascontiguousarray(values))])
    return pa.ListArray.from_arrays(from_numbers(np.arange(0, n * k + 1, k, dtype=np.int32)), flat)


def constant(value: str | bool | None) -> pa.Scalar:
    """A scalar for Arrow's functions: ``pa.scalar`` and plain Python values import pandas. None is a text."""
    if isinstance(value, bool):
        return from_bools(np.array([value]))[0]
    data = (value or "").encode()
    known = None if value is not None else _bitmap(np.array([False]))
    offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
    return pa.Array.from_buffers(pa.string(), 1, [known, offsets, pa.py_buffer(data)])[0]


def true_where(condition: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """(n,) bool of a column of truth values; NULL counts as False."""
    found = [np.empty(0, bool)]
    for chunk in condition.chunks if isinstance(condition, pa.ChunkedArray) else [condition]:
        known, data = chunk.buffers()
        found.append(_bits(data, chunk) & (known is None or _bits(known, chunk)))
    return np.concatenate(found)


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column in one piece."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _bitmap(flags: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _bits(bitmap: pa.Buffer, chunk: pa.Array) -> np.ndarray:
    """The (n,) bool that a bitmap of a chunk holds."""
    flags = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=chunk.offset + len(chunk), bitorder="little")
    return flags[chunk.offset :].astype(bool)


def from_columns(columns: Sequence[Sequence[object]], schema: pa.Schema) -> pa.Table:
    """A table of whole columns of int32, float64 (no nulls) or text (None and the empty text are NULL)."""
    arrays = [
        from_texts(values)
        if pa.types.is_string(field.type)
        else from_numbers(np.array(values, _NAMES[field.type]))
        for values, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


_TYPES = {"int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(), "float64": pa.float64()}
_NAMES = {kind: name for name, kind in _TYPES.items()}
