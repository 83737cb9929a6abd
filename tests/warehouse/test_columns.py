"""Columns between Arrow and NumPy without Arrow's functions: what Arrow says of a column is the answer."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse.load.columns import from_columns, places_of, to_numbers, true_where, words_of
from warehouse.load.fields import LARGEST_WHOLE, whole, wholes

CUTS = st.lists(st.integers(0, 40), max_size=4)


def in_chunks(column: pa.Array, cuts: list[int]) -> pa.ChunkedArray:
    """The column in chunks that begin anywhere, empty ones too."""
    ends = [0, *sorted(min(cut, len(column)) for cut in cuts), len(column)]
    pieces = [column.slice(begin, end - begin) for begin, end in pairwise(ends)]
    return pa.chunked_array(pieces, column.type)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["N", "S", "", None]), max_size=40), CUTS)
def test_words_and_places_are_the_column(values, cuts):
    column = in_chunks(pa.array(values, pa.string()).dictionary_encode(), cuts)
    words, places = words_of(column), places_of(column)
    assert [words[place] if place >= 0 else None for place in places] == values
    assert places.dtype == np.int32


@settings(deadline=None)
@given(st.lists(st.sampled_from([True, False, None]), max_size=40), CUTS)
def test_true_where_counts_null_as_false(values, cuts):
    column = pa.array(values, pa.bool_())
    assert true_where(in_chunks(column, cuts)).tolist() == [value is True for value in values]
    assert true_where(column).tolist() == [value is True for value in values]


def test_an_empty_column_of_numbers_is_empty():
    assert to_numbers(pa.chunked_array([], pa.int32())).dtype == np.int32


def test_from_columns_has_null_for_the_empty_text():
    schema = pa.schema([("case_id", pa.int32()), ("age", pa.string()), ("at", pa.float64())])
    table = from_columns([[3, 4], ["", ">89"], [0.5, 2.0]], schema)
    table.validate(full=True)
    assert table.to_pylist() == [
        {"case_id": 3, "age": None, "at": 0.5},
        {"case_id": 4, "age": ">89", "at": 2.0},
    ]


FIELD = st.one_of(
    st.integers(0, 10**12).map(str),
    st.sampled_from(
        ["", " 7", "+7", "-7", "1.0", "1_2", "١", "²", "007", "0x10", str(LARGEST_WHOLE), "9" * 5000]
    ),
)


@settings(deadline=None)
@given(st.lists(FIELD, max_size=6))
def test_wholes_are_whole_one_by_one(texts):
    assert wholes(texts) == [whole(text) for text in texts]


@pytest.mark.parametrize(("own", "found"), [(None, "14"), ("20", "20")])
def test_idle_blas_threads_sleep_soon_unless_the_user_says_otherwise(own, found):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"}
    if own is not None:
        environment["OPENBLAS_THREAD_TIMEOUT"] = own
    code = "import sys, warehouse, os; print(os.environ['OPENBLAS_THREAD_TIMEOUT'], 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == [found, "False"]
