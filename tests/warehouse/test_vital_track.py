"""One .vital file: read to the last bit, or an error that names what is wrong where the package is silent."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
from vitaldb.utils import VitalFile

from warehouse.errors import InputError
from warehouse.load.vital_track import TRACK, check_complete, read_track

START = 4_102_444_800.0
SECONDS = 20


def wave(seconds: int = SECONDS, hz: int = 500) -> np.ndarray:
    return np.sin(np.arange(seconds * hz) / 40, dtype=np.float32)


def build(
    path: Path, *, track: str = TRACK, hz: float = 500, samples=None, packed=True, seconds=SECONDS
) -> Path:
    """A .vital file with one wave and, so that it is never empty, one numeric track."""
    file = VitalFile()
    file.dtstart, file.dtend = START, START + seconds
    values = wave(seconds, int(hz)) if samples is None else samples
    step = int(hz)
    recs = [{"dt": START + k, "val": values[k * step : (k + 1) * step]} for k in range(len(values) // step)]
    if recs:
        file.add_track(track, recs, srate=hz, unit="mV")
    file.add_track("Solar8000/HR", [{"dt": START + 1, "val": 61.0}], unit="/min")
    file.to_vital(str(path), packed=packed)
    return path


def refusal(path: Path, **how) -> tuple[str, str]:
    with pytest.raises(InputError) as caught:
        read_track(path, **how)
    (problem,) = caught.value.problems
    assert problem.where == path.name
    assert caught.value.exit_code == 1
    assert caught.value.next_step
    return problem.found, problem.expected


@pytest.mark.parametrize("packed", [True, False])
def test_samples_come_back_exactly_with_gaps_as_nan(tmp_path, packed):
    samples = wave()
    samples[3000:4500] = np.nan
    path = build(tmp_path / "1.vital", samples=samples, packed=packed)
    recording = read_track(path)
    assert recording.samples.dtype == np.float32
    np.testing.assert_array_equal(recording.samples, samples)
    assert (recording.hz, recording.duration_s) == (500, SECONDS)
    assert recording.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_record_that_is_not_there_is_a_gap(tmp_path):
    file = VitalFile()
    file.dtstart, file.dtend = START, START + 10
    file.add_track(TRACK, [{"dt": START + k, "val": wave(1)} for k in (0, 1, 6)], srate=500)
    file.to_vital(str(tmp_path / "1.vital"), packed=False)
    samples = read_track(tmp_path / "1.vital").samples
    assert len(samples) == 5000
    assert np.flatnonzero(~np.isnan(samples)).tolist() == [*range(1000), *range(3000, 3500)]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("lost", [1, 8, 400])
def test_a_gzip_stream_cut_off_is_refused(tmp_path, packed, lost):
    path = build(tmp_path / "1.vital", packed=packed)
    raw = path.read_bytes()
    path.write_bytes(raw[:-lost])
    found, expected = refusal(path)
    assert found == f"a gzip stream cut off after {len(raw) - lost:,} bytes"
    assert expected == "a complete gzip stream"


def test_a_flipped_bit_is_refused(tmp_path):
    path = build(tmp_path / "1.vital")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 4
    path.write_bytes(raw)
    assert "damaged gzip stream" in refusal(path)[0]


def test_what_is_no_gzip_is_refused(tmp_path):
    path = tmp_path / "1.vital"
    path.write_bytes(b"<html>404</html>")
    assert refusal(path)[0].startswith("no gzip stream")
    path.write_bytes(b"")
    assert refusal(path)[0] == "an empty file"


def test_a_gzip_of_something_else_is_refused(tmp_path):
    path = tmp_path / "1.vital"
    path.write_bytes(gzip.compress(b"time,ecg\n0,0\n"))
    assert refusal(path) == ("a gzip of something that begins b'time'", "a .vital file, b'VITA'")


@pytest.mark.parametrize("packed", [True, False])
def test_content_cut_off_inside_a_sound_gzip_is_refused(tmp_path, packed):
    path = build(tmp_path / "1.vital", packed=packed)
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(content[:-700]))
    found, expected = refusal(path)
    assert found == f"{len(content) - 700:,} bytes of content"
    assert expected.startswith("whole packets")


def test_a_packet_at_which_the_package_would_stop_reading_is_refused(tmp_path):
    path = build(tmp_path / "1.vital", packed=False)
    content = gzip.decompress(path.read_bytes())
    tail = content[37:]
    path.write_bytes(
        gzip.compress(content[:37] + struct.pack("<BL", 99, 1_000_001) + bytes(1_000_001) + tail)
    )
    assert "a packet of 1,000,001 bytes at byte 37" in refusal(path)[0]


def test_content_that_the_package_stumbles_over_is_refused_and_nothing_is_printed(tmp_path, capsys):
    path = build(tmp_path / "1.vital", packed=False)
    content = gzip.decompress(path.read_bytes())
    short_record = struct.pack("<BL", 9, 2) + b"\0\0"
    path.write_bytes(gzip.compress(content[:37] + short_record + content[37:]))
    assert "content that vitaldb cannot parse" in refusal(path)[0]
    assert capsys.readouterr().out == ""


def test_an_absent_track_is_refused_with_what_is_there(tmp_path):
    path = build(tmp_path / "1.vital", track="SNUADC/ECG_V5")
    found, expected = refusal(path)
    assert found == f"no track '{TRACK}' among 2: SNUADC/ECG_V5, Solar8000/HR"
    assert expected == f"a track named exactly '{TRACK}'"


def test_a_track_that_only_ends_alike_is_refused(tmp_path):
    path = build(tmp_path / "1.vital", track=f"OLD{TRACK}")
    assert VitalFile(str(path), [TRACK]).find_track(TRACK) is not None, "the package takes it"
    assert refusal(path)[0].endswith(f"'OLD{TRACK}' only ends alike")


@pytest.mark.parametrize("hz", [250, 499, 501, 1000])
def test_another_sampling_rate_is_refused(tmp_path, hz):
    path = build(tmp_path / "1.vital", hz=hz)
    assert len(VitalFile(str(path)).to_numpy([TRACK], 1 / 500)) == 500 * SECONDS, "the package resamples"
    assert refusal(path) == (f"{TRACK} at {hz} Hz", "500 Hz; it is not resampled")


def test_a_track_of_single_values_is_refused(tmp_path):
    path = build(tmp_path / "1.vital")
    assert refusal(path, track="Solar8000/HR")[0] == "Solar8000/HR as a track of single values"


@pytest.mark.parametrize("seconds", [0, -5])
def test_a_recording_without_length_is_refused(tmp_path, seconds):
    """Times of the header that say so, and records that the header's end hides."""
    path = build(tmp_path / "1.vital", samples=wave(1))
    content = bytearray(gzip.decompress(path.read_bytes()))
    struct.pack_into("<dd", content, 20, START + 1, START + 1 + seconds)
    struct.pack_into("<B", content, 36, 0)
    content = bytes(content).replace(struct.pack("<d", START), struct.pack("<d", -1.0))
    path.write_bytes(gzip.compress(content))
    assert refusal(path)[0] == f"a recording of {seconds} s"


def test_a_recording_of_years_is_refused_before_memory_is_taken(tmp_path):
    path = build(tmp_path / "1.vital", seconds=10)
    content = bytearray(gzip.decompress(path.read_bytes()))
    struct.pack_into("<d", content, 28, START + 1e9)
    path.write_bytes(gzip.compress(bytes(content)))
    assert refusal(path)[0] == "a recording of 1e+09 s"


def test_check_complete_takes_a_sound_file_and_refuses_a_cut_one(tmp_path):
    path = build(tmp_path / "1.vital")
    check_complete(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="cut off"):
        check_complete(path)


SIMULATOR = [
    ("test_intellivue_demo1.vital", 13_121, 26.24, 0.026),
    ("test_data_demo.vital", 18_640, 37.28, 0.061),
    ("test_intelliue_demo2.vital", 109_392, 218.784, 0.003),
]


@pytest.mark.parametrize(("name", "n", "seconds", "missing"), SIMULATOR)
def test_simulator_files_without_times_in_the_header_begin_with_their_earliest_track(
    shared, name, n, seconds, missing
):
    """26.24 s give 13,121 samples: the length is never to be rounded."""
    recording = read_track(shared / "data/vital" / name, track="Intellivue/ECG_II")
    assert len(recording.samples) == n
    assert recording.duration_s == pytest.approx(seconds, abs=1e-6)
    assert np.isnan(recording.samples).mean() == pytest.approx(missing, abs=5e-4)


@pytest.mark.parametrize("name", [row[0] for row in SIMULATOR])
def test_simulator_files_have_no_track_of_vitaldb(shared, name):
    found, _ = refusal(shared / "data/vital" / name)
    assert "Intellivue/ECG_II" in found
    assert "only ends alike" not in found


def test_the_real_minute_with_a_hole_is_the_same_packed_and_unpacked(shared):
    packed, unpacked = (
        read_track(shared / f"data/vital/made_case2040_60s_gap_{how}.vital") for how in ("packed", "unpacked")
    )
    np.testing.assert_array_equal(packed.samples, unpacked.samples)
    assert len(packed.samples) == 30_000
    gone = np.flatnonzero(np.isnan(packed.samples))
    assert gone.tolist() == list(range(gone[0], gone[0] + 1_500))
