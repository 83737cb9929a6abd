"""Headers that wfdb would misread, and segments that contradict their record: refused, and the rest loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import wfdb
from wfdb_files import HZ, counts, write_record

from warehouse.errors import InputError
from warehouse.home import Home
from warehouse.load.mitbih import load


def loaded(tmp_path: Path) -> tuple[list[str], list[str], pl.DataFrame]:
    """The problems, the ids of the records, the pieces of signal."""
    home = Home(tmp_path / "data")
    report = load(home, tmp_path / "release", workers=1)
    record, signal = (
        pl.read_parquet(sorted((home.raw / "mitbih" / name).glob("*.parquet")))
        for name in ("record", "signal")
    )
    return [str(problem) for problem in report.problems], record["record_id"].to_list(), signal


@pytest.fixture
def release(tmp_path: Path) -> Path:
    write_record(tmp_path / "release", "100")
    write_record(tmp_path / "release", "101", counts(1))
    return tmp_path / "release"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        *(
            (
                f"100 2 {rate} 1800",
                f"100.hea, row 1: found '100 2 {rate} 1800'; expected a WFDB header: name (of A",
            )
            for rate in ("-360", "+360", "3.6e2", "360,0", "360Hz", "nan", "fast")
        ),
        ("100 2 0 1800", "100.hea, row 1: found 0 Hz; expected a rate above 0 Hz"),
        ("100 2 360 -1800", "100.hea, row 1: found '100 2 360 -1800'"),
        ("100 3 360 1800", "100.hea, row 4: found 2 lines of signals; expected 3, as the first line says"),
        ("100 1 360 1800", "100.hea, row 4: found 2 lines of signals; expected 1, as the first line says"),
        ("100/3 2 360 1800", "100.hea, row 4: found 2 lines of segments; expected 3, as the first line says"),
        ("100/2 2 360 1800", "100.hea, row 3: found '100.dat 16"),
        ("", "100.hea: found an empty header"),
    ],
)
def test_a_header_that_wfdb_would_misread_costs_only_its_record(release, tmp_path, line, said):
    header = release / "100.hea"
    lines = header.read_text().splitlines()
    header.write_text("# before\n" + "\n".join([line, *lines[1:3]] if line else [""]) + "\n# after\n")
    problems, records, signal = loaded(tmp_path)
    if line:
        said = said.replace("row 1", "row 2")
    assert len(problems) == 1
    assert f"record 100, {said}" in problems[0]
    assert "Error" not in problems[0]
    assert records == ["101"]
    assert set(signal["record_id"]) == {"101"}


@pytest.mark.parametrize(
    "rate", ["360", "360.0", "360/360", "360/360(0)", "360 1800", "360 1800 9:30:00 01/02/1999"]
)
def test_every_form_of_a_rate_that_the_format_has_is_read(release, tmp_path, rate):
    header = release / "100.hea"
    header.write_text(header.read_text().replace("100 2 360 1800", f"100 2 {rate}", 1))
    problems, records, signal = loaded(tmp_path)
    assert (problems, records) == ([], ["100", "101"])
    assert set(signal["hz"]) == {HZ}
    assert set(signal["n_samples"]) == {1800}


def test_a_format_that_nobody_knows_is_named(release, tmp_path):
    header = release / "100.hea"
    header.write_text(header.read_text().replace("100.dat 16", "100.dat 999"))
    problems, records, _ = loaded(tmp_path)
    assert len(problems) == 1
    assert "record 100, 100.dat: found format 999; expected one of 8, 16, 24" in problems[0]
    assert "leads lost: MLII, V1" in problems[0]
    assert records == ["100", "101"]


def in_segments(folder: Path, lines: str, second_hz: int = HZ) -> None:
    write_record(folder, "300a", counts(1), beats=())
    write_record(folder, "300b", counts(2, samples=900), beats=())
    second = folder / "300b.hea"
    second.write_text(second.read_text().replace("300b 2 360", f"300b 2 {second_hz}"))
    (folder / "300.hea").write_text(lines)
    wfdb.wrann("300", "atr", np.array([7, 1200]), ["N", "V"], write_dir=str(folder))


@pytest.mark.parametrize(
    ("lines", "second_hz", "said"),
    [
        (
            "300/2 2 360 2700\n300a 1800\n300b 900\n",
            500,
            "300b.hea: found 500 Hz; expected 360 Hz, as the record has",
        ),
        (
            "300/2 2 360 2600\n300a 1800\n300b 800\n",
            360,
            "300b.hea: found 900 samples; expected 800, as the record",
        ),
        (
            "300/2 2 360 2700\n300a 1800\n300c 900\n",
            360,
            "300c.hea: found no such file; expected the header of a",
        ),
        (
            "300/2 2 360 2700\n300a 1800\n300 900\n",
            360,
            "300.hea: found a record of segments; expected a segment",
        ),
    ],
)
def test_a_segment_that_contradicts_its_record_is_lost_alone(tmp_path, lines, second_hz, said):
    in_segments(tmp_path / "release", lines, second_hz)
    problems, records, signal = loaded(tmp_path)
    assert any(f"record 300, {said}" in line for line in problems), problems
    assert not any(str(tmp_path) in line for line in problems)
    assert "300" in records
    kept = signal.filter(pl.col("record_id") == "300")
    assert kept.select("segment_no", "first_sample").unique().rows() == [(0, 0)]


def test_segments_that_are_not_as_long_as_their_record_are_said(tmp_path):
    in_segments(tmp_path / "release", "300/2 2 360 3000\n300a 1800\n300b 900\n")
    problems, _, signal = loaded(tmp_path)
    expected = "300.hea: found segments of 2,700 samples together; expected 3,000, as its first line says"
    assert problems == [f"record 300, {expected}"]
    assert signal.height == 4


def test_records_of_segments_that_name_each_other_do_not_vanish(tmp_path):
    folder = tmp_path / "release"
    write_record(folder, "100")
    (folder / "a.hea").write_text("a/1 2 360 1800\nb 1800\n")
    (folder / "b.hea").write_text("b/1 2 360 1800\na 1800\n")
    problems, records, _ = loaded(tmp_path)
    assert records == ["100", "a", "b"]
    assert [line for line in problems if "a record of segments" in line and ".atr" not in line]
    assert {"record a", "record b"} <= {line.split(",")[0] for line in problems}


def test_a_segment_named_by_a_path_costs_only_its_record(tmp_path):
    write_record(tmp_path / "release", "100")
    (tmp_path / "release" / "a.hea").write_text("a/1 2 360 1800\n../release/100 1800\n")
    problems, records, _ = loaded(tmp_path)
    assert records == ["100"]
    assert (
        "record a, a.hea, row 2: found '../release/100 1800'; expected the name of a segment" in problems[0]
    )


def test_a_release_of_one_bad_header_is_refused(tmp_path):
    write_record(tmp_path / "release", "100")
    header = tmp_path / "release" / "100.hea"
    header.write_text(header.read_text().replace("100 2 360", "100 2 -360"))
    with pytest.raises(InputError, match="none of 1 records can be read"):
        loaded(tmp_path)
