"""WFDB records as raw counts: our reader of format 16 against the wfdb package, and what is wrong with a record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import wfdb
from lydus_files import write_wfdb

from warehouse.errors import InputError
from warehouse.load.wfdb_signals import read_wfdb

LEADS = ("I", "II", "V1")
SAMPLES = np.random.default_rng(0).integers(-32767, 32768, (3, 1000)).astype(np.int16)


def refused(header: Path, *words: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_wfdb(header)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def edit(header: Path, old: str, new: str) -> Path:
    text = header.read_text(encoding="utf-8")
    assert old in text
    header.write_text(text.replace(old, new), encoding="utf-8")
    return header


def test_counts_scale_and_names(tmp_path):
    record = read_wfdb(write_wfdb(tmp_path, "r", SAMPLES, LEADS, hz=100, gain="200.0(-7)/mV"))
    assert (record.counts == SAMPLES).all()
    assert record.counts.dtype == np.int16
    assert record.scale.leads == LEADS
    assert (record.scale.hz, record.scale.uv_per_count, record.scale.baseline) == (100, 5.0, -7)


def test_physical_values_agree_with_the_wfdb_package(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES // 2, LEADS, gain="204.918(33)/mV")
    record = read_wfdb(header)
    ours = (record.counts.astype(float) - record.scale.baseline) * record.scale.uv_per_count / 1000
    theirs = wfdb.rdrecord(str(header.with_suffix(""))).p_signal.T
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("gain", "uv"), [("200/mV", 5.0), ("0.2/uV", 5.0), ("200000/V", 5.0), ("250", 4.0), ("0", 5.0)], ids=str
)
def test_units(tmp_path, gain, uv):
    assert read_wfdb(
        write_wfdb(tmp_path, "r", SAMPLES, LEADS, gain=gain)
    ).scale.uv_per_count == pytest.approx(uv)


def test_baseline_is_adc_zero_when_it_is_not_given(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS, gain="200/mV")
    text = header.read_text(encoding="utf-8").replace("200/mV 16 0 ", "200/mV 16 1024 ")
    header.write_text(text, encoding="utf-8")
    assert read_wfdb(header).scale.baseline == 1024


def test_comments_and_short_lines(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES[:1], ("I",))
    header.write_text("# made\nr 1 500 1000 10:00:00 01/01/2015\nr.dat 16\n# Age: 50\n", encoding="utf-8")
    record = read_wfdb(header)
    assert (record.counts == SAMPLES[:1]).all()
    assert (record.scale.leads, record.scale.uv_per_count) == (("lead 1",), 5.0)


def test_another_format_goes_through_wfdb(tmp_path):
    small = (SAMPLES // 64).T
    wfdb.wrsamp(
        "r", fs=360, units=["mV"] * 2, sig_name=["MLII", "V5"], d_signal=small[:, :2].astype(int), fmt=["212", "212"],
        adc_gain=[200, 200], baseline=[5, 5], write_dir=str(tmp_path),
    )  # fmt: skip
    record = read_wfdb(tmp_path / "r.hea")
    assert (record.counts == small[:, :2].T).all()
    assert (record.scale.leads, record.scale.hz, record.scale.baseline) == (("MLII", "V5"), 360, 5)


def test_no_header(tmp_path):
    refused(tmp_path / "r.hea", "r.hea: found no file; expected a WFDB header")


def test_no_samples(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS)
    (tmp_path / "r.dat").unlink()
    refused(header, "found no r.dat")


@pytest.mark.parametrize("change", [-2, -1, 2])
def test_samples_cut_or_longer(tmp_path, change):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS)
    path = tmp_path / "r.dat"
    data = path.read_bytes()
    path.write_bytes(data[:change] if change < 0 else data + b"xx")
    refused(
        header, f"r.dat: found {6000 + change:,} bytes; expected 6,000 (3 leads × 1000 samples of 2 bytes)"
    )


def test_checksum(tmp_path):
    refused(
        write_wfdb(tmp_path, "r", SAMPLES, LEADS, checksum=1),
        "r.dat: found checksum",
        "in I",
        "as r.hea says",
    )


def test_one_sample_changed(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS)
    data = bytearray((tmp_path / "r.dat").read_bytes())
    data[3004] ^= 1
    (tmp_path / "r.dat").write_bytes(bytes(data))
    refused(header, "found checksum")


def test_first_value(tmp_path):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS)
    refused(edit(header, f" 0 {SAMPLES[1, 0]} ", f" 0 {int(SAMPLES[1, 0]) + 1} "), "first in II")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("r 3 500 1000", "r three 500 1000", "found 'r three 500 1000'; expected name, number of signals"),
        ("r 3 500 1000", "r 4 500 1000", "row 4: found 3 signal lines; expected 4"),
        ("r 3 500 1000", "r 3 499.5 1000", "found 499.5 Hz"),
        ("16 1000.0(0)/mV 16 0", "16 1000.0[0]/mV 16 0", "row 2: found 'r.dat 16 1000.0[0]/mV"),
    ],
)
def test_bad_headers(tmp_path, old, new, words):
    refused(edit(write_wfdb(tmp_path, "r", SAMPLES, LEADS), old, new), "r.hea", words)


@pytest.mark.parametrize("gain", ["500.0(0)/mV", "1000.0(1)/mV", "1000.0(0)/uV"])
def test_leads_of_several_scales(tmp_path, gain):
    header = write_wfdb(tmp_path, "r", SAMPLES, LEADS)
    lines = header.read_text(encoding="utf-8").splitlines()
    lines[2] = lines[2].replace("1000.0(0)/mV", gain)
    header.write_text("\n".join(lines), encoding="utf-8")
    refused(header, "r.hea", "for all signals")


def test_another_unit(tmp_path):
    refused(write_wfdb(tmp_path, "r", SAMPLES, LEADS, gain="10/mmHg"), "found units mmhg; expected one of mV")


@pytest.mark.parametrize("data", [b"", b"# only a comment\n", b"\xff\xfe"])
def test_no_header_inside(tmp_path, data):
    (tmp_path / "r.hea").write_bytes(data)
    refused(tmp_path / "r.hea", "r.hea: found")


def test_real_records_agree_with_the_wfdb_package(shared):
    headers = sorted((shared / "data" / "ptbxl" / "records500").rglob("*.hea"))[:10]
    assert len(headers) == 10
    for header in headers:
        record = read_wfdb(header)
        theirs = wfdb.rdrecord(str(header.with_suffix("")), physical=False)
        assert (record.counts == theirs.d_signal.T).all()
        assert record.scale.leads == tuple(theirs.sig_name)
        assert record.scale.uv_per_count == 1000 / theirs.adc_gain[0]
