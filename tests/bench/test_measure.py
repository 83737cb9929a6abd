"""What the benchmarks measure belongs to the process that is measured."""

from __future__ import annotations

from tests.bench.measure import measure


def test_the_peak_is_the_processs_own():
    held = bytes(1) * (300 << 20)  # as of a benchmark before
    small = measure("result = 'fine'", runs=1)
    large = measure("held = bytes(1) * (120 << 20); result = len(held)", runs=1)
    assert (small.result, large.result) == ("fine", 120 << 20)
    assert small.mib < 60
    assert 120 < large.mib < 180
    assert len(held) == 300 << 20


def test_imports_are_the_time_until_the_code_says_so():
    found = measure("import time\nimports = time.process_time()\nresult = sum(range(3_000_000))", runs=1)
    assert 0 < found.imports_s < found.cpu_s
