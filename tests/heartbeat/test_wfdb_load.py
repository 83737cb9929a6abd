"""`load mitbih` on small records: every format, every kind of damage; what is broken costs only itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import wfdb
from wfdb_files import SAMPLES, counts, write_record

from warehouse.errors import InputError, UsageError
from warehouse.home import Home
from warehouse.load.mitbih import load


def loaded(tmp_path: Path, workers: int = 1, home: str = "data"):
    place = Home(tmp_path / home)
    return load(place, tmp_path / "release", workers=workers), place


def table(home: Home, name: str) -> pl.DataFrame:
    return pl.read_parquet(sorted((home.raw / "mitbih" / name).glob("*.parquet")))


def samples(home: Home, record: str, lead: str) -> np.ndarray:
    rows = table(home, "signal").filter((pl.col("record_id") == record) & (pl.col("lead") == lead))
    return rows.sort("first_sample")["samples"].explode().to_numpy()


def found(report) -> list[str]:
    return [str(problem) for problem in report.problems]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two sound records, 100 and 101."""
    write_record(tmp_path / "release", "100")
    write_record(tmp_path / "release", "101", counts(1))
    return tmp_path / "release"


@pytest.mark.parametrize("fmt", ["16", "24", "32", "80", "508", "516", "524"])
def test_counts_of_every_format_are_kept(tmp_path, fmt):
    wide = 3 if fmt in ("16", "516") else 80_000 if fmt in ("24", "32", "524") else 1
    signal = write_record(tmp_path / "release", "100", counts() * wide, fmt=fmt)
    report, home = loaded(tmp_path)
    assert found(report) == []
    for place, lead in enumerate(("MLII", "V1")):
        assert (samples(home, "100", lead) == signal[:, place]).all()
    facts = table(home, "signal_fact")
    assert facts["checksum"].to_list() == ["verified"] * 2
    assert facts["format"].to_list() == [fmt] * 2
    assert facts.select("gain", "baseline", "units").rows() == [(200.0, 1024, "mV"), (100.0, 5, "mV")]
    assert facts["min_count"].to_list() == signal.min(axis=0).tolist()


def test_format_212_is_kept(shared, tmp_path):
    (tmp_path / "release").mkdir()
    for path in (shared / "data" / "mitdb").glob("100.*"):
        (tmp_path / "release" / path.name).write_bytes(path.read_bytes())
    report, home = loaded(tmp_path)
    assert found(report) == []
    read = wfdb.rdrecord(str(tmp_path / "release" / "100"), physical=False)
    assert (samples(home, "100", "V5") == read.d_signal[:, 1]).all()


def test_annotations_are_rows_in_file_order(release, tmp_path):
    _, home = loaded(tmp_path)
    rows = table(home, "annotation").filter(pl.col("record_id") == "100")
    assert rows.select("row_no", "sample", "symbol", "source_file").rows() == [
        (1, 100, "N", "100.atr"),
        (2, 400, "V", "100.atr"),
        (3, 700, "N", "100.atr"),
        (4, 1000, "N", "100.atr"),
    ]


def test_subtype_channel_number_and_note_are_kept(release, tmp_path):
    wfdb.wrann(
        "100", "atr", np.array([5, 9, 30]), ["+", "N", "~"], subtype=np.array([0, 1, 2]), chan=np.array([0, 1, 1]),
        num=np.array([0, 3, 0]), aux_note=["(AFIB\0", "", "TS"], write_dir=str(release),
    )  # fmt: skip
    _, home = loaded(tmp_path)
    rows = table(home, "annotation").filter(pl.col("record_id") == "100")
    assert rows.select("symbol", "subtype", "chan", "num", "aux").rows() == [
        ("+", 0, 0, 0, "(AFIB"),
        ("N", 1, 1, 3, None),
        ("~", 2, 1, 0, "TS"),
    ]


def test_comments_keep_their_letters(release, tmp_path):
    header = release / "100.hea"
    text = header.read_bytes().replace(b"\n", b"\r\n")
    header.write_bytes(text + '# Müller, 5 µV "quoted", a comma\r\n'.encode("latin-1"))
    report, home = loaded(tmp_path)
    assert found(report) == []
    rows = table(home, "comment").filter(pl.col("record_id") == "100")
    assert rows.select("row_no", "text").rows() == [(4, "69 M"), (5, 'Müller, 5 µV "quoted", a comma')]


def test_a_record_without_signals_keeps_header_and_annotations(release, tmp_path):
    (release / "100.hea").write_text("100 0 360 1800\n# no leads\n")
    (release / "100.dat").unlink()
    report, home = loaded(tmp_path)
    assert found(report) == []
    row = table(home, "record").row(0, named=True)
    assert (row["record_id"], row["n_signals"], row["n_samples"]) == ("100", 0, 1800)
    assert table(home, "annotation").filter(pl.col("record_id") == "100").height == 4


def test_segments_keep_their_own_gain_and_place(tmp_path):
    folder = tmp_path / "release"
    one = write_record(folder, "300a", counts(1), beats=())
    two = write_record(folder, "300b", counts(2, samples=900), beats=(), gains=(50.0, 60.0), fmt="24")
    (folder / "300.hea").write_text("300/3 2 360 3000\n300a 1800\n~ 300\n300b 900\n# two pieces\n")
    wfdb.wrann("300", "atr", np.array([7, 2200]), ["N", "V"], write_dir=str(folder))
    report, home = loaded(tmp_path)
    assert found(report) == []
    assert table(home, "record").select("record_id", "n_segments", "n_samples").rows() == [("300", 3, 3000)]
    rows = table(home, "signal").filter(pl.col("lead") == "V1").sort("first_sample")
    assert rows.select("segment_no", "first_sample", "n_samples", "gain").rows() == [
        (0, 0, 1800, 100.0),
        (2, 2100, 900, 60.0),
    ]
    assert (rows["samples"][1].to_numpy() == two[:, 1]).all()
    assert (rows["samples"][0].to_numpy() == one[:, 1]).all()
    assert table(home, "comment")["text"].to_list() == ["two pieces"]


def test_a_lead_with_more_samples_a_frame_keeps_its_own_rate(tmp_path):
    folder = tmp_path / "release"
    fast, slow = counts(1, 1, 3600)[:, 0], counts(2, 1, 1800)[:, 0]
    wfdb.wrsamp(
        "400", 360, ["mV", "mV"], ["II", "resp"], e_d_signal=[fast, slow], fmt=["16", "16"], adc_gain=[200, 100],
        baseline=[0, 0], samps_per_frame=[2, 1], write_dir=str(_made(folder)),
    )  # fmt: skip
    report, home = loaded(tmp_path)
    assert [each for each in found(report) if ".atr" not in each] == []
    assert table(home, "signal").select("lead", "hz", "n_samples").rows() == [
        ("II", 720.0, 3600),
        ("resp", 360.0, 1800),
    ]
    assert (samples(home, "400", "II") == fast).all()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_samples_marked_as_missing_are_counted_and_kept(tmp_path):
    signal = counts()
    signal[10:13, 0] = -32768
    write_record(tmp_path / "release", "100", signal)
    report, home = loaded(tmp_path)
    assert table(home, "signal_fact")["invalid_samples"].to_list() == [3, 0]
    assert (samples(home, "100", "MLII")[9:14] == signal[9:14, 0]).all()
    assert table(home, "signal")["invalid_count"].to_list() == [-32768, -32768]
    (odd,) = [each for each in report.oddities if "missing" in each["what"]]
    assert (odd["count"], odd["where"]) == (3, ["100 MLII"])


def test_a_constant_lead_is_said(tmp_path):
    signal = counts()
    signal[:, 1] = 7
    write_record(tmp_path / "release", "100", signal)
    report, _ = loaded(tmp_path)
    assert [odd["where"] for odd in report.oddities if "constant" in odd["what"]] == [["100 V1"]]


DAMAGE = {
    "short": (
        lambda folder: _cut(folder / "100.dat", -300),
        "found 6,900 bytes; expected 7,200 (3,600 samples",
    ),
    "gone": (lambda folder: (folder / "100.dat").unlink(), "100.dat: found no such file"),
    "changed": (lambda folder: _flip(folder / "100.dat", 400), "found checksum"),
    "no annotations": (lambda folder: (folder / "100.atr").unlink(), "100.atr: found no such file"),
    "odd bytes": (lambda folder: _cut(folder / "100.atr", -1), "expected a WFDB annotation file"),
    "no end": (lambda folder: _cut(folder / "100.atr", -2), "found no end mark"),
    "no header": (lambda folder: (folder / "100.hea").write_text(""), "expected a WFDB header"),
    "nonsense": (lambda folder: (folder / "100.hea").write_text("what\n"), "expected a WFDB header"),
}


def _cut(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes()[:at])


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_broken_file_costs_only_itself(release, tmp_path, damage):
    spoil, message = DAMAGE[damage]
    spoil(release)
    report, home = loaded(tmp_path)
    assert found(report)
    assert all("record 100" in line for line in found(report))
    assert any(message in line for line in found(report)), found(report)
    assert len(samples(home, "101", "V1")) == SAMPLES
    records = table(home, "record")["record_id"].to_list()
    assert records == (["101"] if "header" in damage or damage == "nonsense" else ["100", "101"])
    if damage in ("short", "gone", "changed"):
        assert table(home, "annotation").filter(pl.col("record_id") == "100").height == 4
        facts = table(home, "signal_fact").filter(pl.col("record_id") == "100")
        lost = facts.filter(~pl.col("has_samples"))
        assert lost["lead"].to_list() == (["MLII"] if damage == "changed" else ["MLII", "V1"])
        assert lost["problem"].null_count() == 0
    if damage == "no end":
        assert table(home, "annotation").filter(pl.col("record_id") == "100").height == 3


def test_a_checksum_of_zero_is_not_declared(release, tmp_path):
    header = release / "100.hea"
    lines = header.read_text().splitlines()
    fields = [line.split() for line in lines]
    for line in fields[1:3]:
        line[6] = "0"
    header.write_text("\n".join(" ".join(line) for line in fields) + "\n")
    report, home = loaded(tmp_path)
    assert found(report) == []
    facts = table(home, "signal_fact").filter(pl.col("record_id") == "100")
    assert facts["checksum"].to_list() == ["not declared"] * 2
    assert "2 verified, 2 not declared, 0 differ" in report.notes[0]


def test_an_unknown_annotation_code_is_kept_and_said(release, tmp_path):
    (release / "100.atr").write_bytes(bytes([100, 45 << 2, 50, 1 << 2, 0, 0]))
    report, home = loaded(tmp_path)
    rows = table(home, "annotation").filter(pl.col("record_id") == "100")
    assert rows["symbol"].to_list() == ["[45]", "N"]
    (odd,) = [each for each in report.oddities if "symbol" in each["what"]]
    assert (odd["count"], odd["where"]) == (1, ["[45]"])


def test_a_record_that_the_release_lists_must_be_there(release, tmp_path):
    (release / "RECORDS").write_text("100\n101\n102\n")
    report, _ = loaded(tmp_path)
    assert found(report) == ["RECORDS, row 3: found record 102; expected its header below the folder"]


def test_one_signal_under_two_names_is_said(release, tmp_path):
    write_record(release / "copy", "102")
    (release / "103.hea").write_bytes((release / "101.hea").read_bytes())
    (release / "103.atr").write_bytes((release / "101.atr").read_bytes())
    report, home = loaded(tmp_path)
    assert found(report) == []
    (odd,) = [each for each in report.oddities if "several records" in each["what"]]
    assert (odd["count"], odd["where"]) == (2, ["100 100.dat = 102 102.dat", "101 101.dat = 103 101.dat"])
    assert odd["handled"].startswith("kept, each as its own record (100 100.dat = 102 102.dat; 101")
    assert table(home, "record").height == 4


def test_a_rate_that_the_rules_were_not_made_for_is_said(release, tmp_path):
    header = release / "100.hea"
    header.write_text(header.read_text().replace("100 2 360", "100 2 257.5", 1))
    report, _ = loaded(tmp_path)
    assert found(report) == []
    (odd,) = [each for each in report.oddities if "360 Hz" in each["what"]]
    assert (odd["count"], odd["where"]) == (1, ["100 257.5 Hz"])


def test_nothing_is_loaded_from_a_folder_without_records(tmp_path):
    (tmp_path / "release").mkdir()
    with pytest.raises(InputError, match=r"no \.hea file"):
        loaded(tmp_path)
    with pytest.raises(UsageError, match="found nothing"):
        load(Home(tmp_path / "data"), tmp_path / "other")


def test_what_was_loaded_stays_when_no_record_can_be_read(release, tmp_path):
    loaded(tmp_path)
    for name in ("100", "101"):
        (release / f"{name}.hea").write_text("what\n")
    with pytest.raises(InputError, match="none of 2 records can be read"):
        loaded(tmp_path)
    assert table(Home(tmp_path / "data"), "record").height == 2


def test_two_records_of_one_name_are_refused(release, tmp_path):
    write_record(release / "copy", "100")
    with pytest.raises(InputError, match="records of one name"):
        loaded(tmp_path)


@pytest.mark.parametrize("pays", [0, 1 << 40], ids=["processes", "threads"])
def test_one_worker_and_two_write_the_same_bytes(tmp_path, monkeypatch, pays):
    monkeypatch.setattr("warehouse.load.wfdb_release.PROCESSES_PAY_BYTES", pays)
    for number in range(100, 110):
        write_record(tmp_path / "release", str(number), counts(number))
    bytes_of = []
    for workers in (1, 2):
        _, home = loaded(tmp_path, workers, f"data{workers}")
        files = sorted((home.raw / "mitbih").rglob("*.parquet"))
        bytes_of.append([(path.name, path.read_bytes()) for path in files])
    assert len([name for name, _ in bytes_of[0] if name.startswith("signal-")]) == 2
    assert bytes_of[0] == bytes_of[1]


def test_the_command_ends_with_one_when_a_record_is_broken(release, tmp_path):
    from click.testing import CliRunner

    import cli

    _cut(release / "100.dat", -300)
    data = ["--data", str(tmp_path / "data")]
    done = CliRunner().invoke(cli.main, ["load", "mitbih", str(release), "--workers", "1", *data])
    assert done.exit_code == 1
    assert "problem: record 100, 100.dat: found 6,900 bytes; expected 7,200" in done.output
    assert "1 cases were not loaded whole; the rest is loaded" in done.output
    assert table(Home(tmp_path / "data"), "record").height == 2
