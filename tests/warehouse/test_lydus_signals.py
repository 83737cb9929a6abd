"""`load lydus` with signals: npz, npy and WFDB as raw counts; shapes, dtypes, keys and leads that are others."""

from __future__ import annotations

import io
import shutil
import zipfile

import numpy as np
import pytest
from lydus_files import counts, refused, row, table_of, write_npz, write_table, write_wfdb

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load import lydus
from warehouse.load.lydus_signals import LEADS
from warehouse.load.signal_counts import RECORDS_PER_GROUP, CountsWriter, Scale

IDS = ["a", "b", "c"]
VALS = counts(3)


@pytest.fixture
def source(tmp_path):
    return write_table(tmp_path / "source", [row(each) for each in IDS])


@pytest.fixture
def home(tmp_path):
    """A home that holds a good release with signals."""
    home = Home(tmp_path / "data")
    folder = write_table(tmp_path / "good", [row("a"), row("b")])
    write_npz(folder, ["a", "b"], counts(2))
    lydus.load(home, folder)
    return home


def stored(home: Home) -> dict[str, np.ndarray]:
    return {
        each["record_id"]: np.array(each["samples"], np.int16).reshape(each["n_leads"], each["n_samples"])
        for each in table_of(home, "signal")
    }


@pytest.mark.parametrize(
    "vals",
    [VALS.reshape(3, -1), VALS, VALS.transpose(0, 2, 1), VALS.astype(">i2")],
    ids=["lead-major", "leads-samples", "samples-leads", "big-endian"],
)
def test_layouts_of_npz_give_the_same_counts(tmp_path, source, vals):
    write_npz(source, IDS, np.ascontiguousarray(vals) if vals.dtype.byteorder != ">" else vals)
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    found = stored(home)
    assert list(found) == IDS
    assert all((found[each] == VALS[place]).all() for place, each in enumerate(IDS))
    first = table_of(home, "signal")[0]
    assert first["leads"] == ",".join(LEADS)
    assert (first["n_leads"], first["n_samples"], first["hz"], first["uv_per_count"], first["baseline"]) == (
        8,
        5000,
        500,
        4.88,
        0,
    )


@pytest.mark.parametrize("options", [{}, {"dtype": object}, {"dtype": "S"}], ids=["text", "object", "bytes"])
def test_keys_may_carry_more_than_the_id(tmp_path, source, options):
    write_npz(source, [f"{each}_P1_20150101" for each in IDS], VALS, **options)
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert [each["record_id"] for each in table_of(home, "signal_fact")] == IDS


def test_compressed_npz(tmp_path, source):
    np.savez_compressed(source / "ecg.npz", keys=np.array(IDS), vals=VALS)
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert (stored(home)["c"] == VALS[2]).all()


def test_pickled_keys_that_would_run_code_are_refused(home, source):
    class Evil:
        def __reduce__(self):
            return (print, ("never",))

    np.savez(source / "ecg.npz", keys=np.array([Evil(), "b", "c"], dtype=object), vals=VALS)
    refused(home, source, "found keys that hold builtins.print; expected an array of texts")


def test_npy_folder(tmp_path, source):
    for place, each in enumerate(IDS):
        (source / "npy").mkdir(exist_ok=True)
        np.save(source / "npy" / f"{each}.npy", VALS[place] if place else VALS[place].T)
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert all((stored(home)[each] == VALS[place]).all() for place, each in enumerate(IDS))


def test_wfdb_folder_with_its_own_scale_and_order(tmp_path, source):
    order = [3, 0, 1, 2, 4, 5, 6, 7]
    for place, each in enumerate(IDS):
        write_wfdb(source / "wfdb", each, VALS[place][order], [LEADS[k] for k in order], gain="200.0(12)/mV")
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert all((stored(home)[each] == VALS[place]).all() for place, each in enumerate(IDS))
    first = table_of(home, "signal")[0]
    assert (first["uv_per_count"], first["baseline"]) == (5.0, 12)


def test_scale_from_the_manifest(tmp_path, source):
    write_npz(source, IDS, VALS)
    (source / "lydus.toml").write_text('signals = "ecg.npz"\nuv_per_count = 2.5\n', encoding="utf-8")
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert {each["uv_per_count"] for each in table_of(home, "signal_fact")} == {2.5}


def test_facts_and_w14(tmp_path, source):
    vals = VALS.copy()
    vals[0] = 7
    vals[1, 2] = -5
    vals[2, 0, 0], vals[2, 7, 9] = -32768, 32767
    write_npz(source, IDS, vals)
    home = Home(tmp_path / "data")
    report = lydus.load(home, source)
    facts = {each["record_id"]: each for each in table_of(home, "signal_fact")}
    assert [facts[each]["flat"] for each in IDS] == [True, False, False]
    assert [facts[each]["constant_leads"] for each in IDS] == [8, 1, 0]
    assert (facts["a"]["min_count"], facts["a"]["max_count"]) == (7, 7)
    assert (facts["c"]["min_count"], facts["c"]["max_count"]) == (-32768, 32767)
    assert (facts["b"]["min_count"], facts["b"]["max_count"]) == (vals[1].min(), vals[1].max())
    assert all(each["has_signal"] for each in facts.values())
    (odd,) = [each for each in report.oddities if each["what"].startswith("W14")]
    assert (odd["count"], odd["where"]) == (1, ["a"])
    assert (stored(home)["c"] == vals[2]).all()


def test_the_report_knows_every_file_by_its_digest(tmp_path, source):
    import hashlib

    path = write_npz(source, IDS, VALS)
    report = lydus.load(Home(tmp_path / "data"), source)
    assert [(each["file"], each["sha256"]) for each in report.sources] == [
        (name, hashlib.sha256((source / name).read_bytes()).hexdigest()) for name in ("ecg.csv", "ecg.npz")
    ]
    path.unlink()
    digests = set()
    for change in (0, 0, 1):
        for place, each in enumerate(IDS):
            write_wfdb(source / "wfdb", each, VALS[place] + np.int16(change), LEADS)
        report = lydus.load(Home(tmp_path / "data"), source)
        assert report.sources[1]["rows"] == 3
        digests.add(report.sources[1]["sha256"])
    assert len(digests) == 2


def test_without_signals_the_tables_are_empty_and_the_report_says_so(tmp_path, source):
    home = Home(tmp_path / "data")
    report = lydus.load(home, source)
    assert table_of(home, "signal") == table_of(home, "signal_fact") == []
    assert "signals: none loaded; flat records are not known" in report.notes
    assert not any("dropped" in note for note in report.notes)


def test_a_load_without_signals_says_that_it_drops_those_of_the_load_before(tmp_path, source):
    home = Home(tmp_path / "data")
    for place, each in enumerate(IDS):
        write_wfdb(source / "wfdb", each, VALS[place], LEADS)
    lydus.load(home, source)
    shutil.rmtree(source / "wfdb")
    report = lydus.load(home, source)
    assert table_of(home, "signal") == []
    assert any(
        "signals: those of the load before (3 records) are dropped, for this source has none" in note
        for note in report.notes
    )


@pytest.mark.parametrize(
    "vals",
    [VALS[:, :, :4999], VALS[:, :7], np.zeros((3, 12, 5000), np.int16), VALS.reshape(3, -1)[:, :-1], VALS[0]],
    ids=["4999", "7-leads", "12-leads", "39999", "one-record"],
)
def test_e06_shape(home, source, vals):
    write_npz(source, IDS, vals)
    refused(
        home, source, "E06 ecg.npz: vals: found shape", "expected (n, 40000), (n, 8, 5000) or (n, 5000, 8)"
    )


def test_e06_columns_first(home, source):
    write_npz(source, IDS, np.asfortranarray(VALS))
    refused(home, source, "E06 ecg.npz: vals: found columns first")


def test_e06_shape_of_one_npy(home, source):
    for place, each in enumerate(IDS):
        np.save(source / f"{each}.npy", VALS[place][:, : 5000 - place])
    error = refused(home, source, "E06 b.npy: found shape (8, 4999)", "E06 c.npy")
    assert len(error.problems) == 2


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint16", "int8"])
def test_e07_dtype(home, source, dtype):
    write_npz(source, IDS, VALS.astype(dtype))
    refused(home, source, f"E07 ecg.npz: vals: found dtype {dtype}; expected int16")


def test_e07_dtype_of_one_npy(home, source):
    for place, each in enumerate(IDS):
        np.save(source / f"{each}.npy", VALS[place].astype("float64" if place == 1 else "int16"))
    refused(home, source, "E07 b.npy: found dtype float64")


def test_e08_both_sides(home, source):
    write_npz(source, ["a", "z_1", "c"], VALS)
    error = refused(
        home, source, "E08 ecg.npz, row 2: found signal 'z_1'", "E08 ecg.npz: found no signal for record 'b'"
    )
    assert len(error.problems) == 2


def test_e08_keys_and_rows_differ(home, source):
    write_npz(source, IDS[:2], VALS)
    refused(home, source, "E08 ecg.npz: found 2 keys and 3 rows of vals")


def test_e02_two_signals_of_a_record(home, source):
    write_npz(source, ["a_1", "a_2", "b", "c"], counts(4))
    refused(
        home, source, "E02 ecg.npz, row 2: found signal 'a_2'; expected one of a record (the other: 'a_1')"
    )


def with_lead_iii(vals: np.ndarray, records: list[int], off: int = 0) -> np.ndarray:
    vals = vals.copy() // 4
    for each in records:
        vals[each, 2] = vals[each, 1] - vals[each, 0] + off
    return vals


def test_e09_third_lead_is_lead_iii(home, source):
    write_npz(source, IDS, with_lead_iii(VALS, [0, 2], off=2))
    refused(
        home, source, "E09 ecg.npz: found a third lead that is II − I in 2 of 3 records", "I, II, III, V1–V5"
    )


@pytest.mark.parametrize(("records", "off"), [([0], 0), ([0, 1, 2], 3)], ids=["few-records", "3-counts-off"])
def test_e09_is_no_accident(tmp_path, source, records, off):
    write_npz(source, IDS, with_lead_iii(VALS, records, off))
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert len(table_of(home, "signal")) == 3


def test_e09_flat_records_say_nothing(tmp_path, source):
    vals = VALS.copy()
    vals[:2] = 0
    write_npz(source, IDS, vals)
    home = Home(tmp_path / "data")
    lydus.load(home, source)
    assert len(table_of(home, "signal")) == 3


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.999])
def test_truncated_npz(home, source, keep):
    path = write_npz(source, IDS, VALS)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    refused(home, source, "ecg.npz: found a file that breaks off or is damaged", "copy the signals again")


def test_a_byte_of_the_samples_changed(home, source):
    path = write_npz(source, IDS, VALS)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    refused(home, source, "ecg.npz: found samples that break off or are damaged", "CRC")


def test_samples_shorter_than_the_header_says(home, source):
    member = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        member, {"descr": "<i2", "fortran_order": False, "shape": (3, 40000)}
    )
    keys = io.BytesIO()
    np.lib.format.write_array(keys, np.array(IDS))
    with zipfile.ZipFile(source / "ecg.npz", "w") as archive:
        archive.writestr("keys.npy", keys.getvalue())
        archive.writestr("vals.npy", member.getvalue() + VALS.tobytes()[:-80_000])
    refused(home, source, "samples that break off", "at record 1")


def test_npz_with_other_arrays(home, source):
    np.savez(source / "ecg.npz", x=VALS)
    refused(home, source, "ecg.npz: found arrays x; expected vals and keys")


def test_npy_cut_short(home, source):
    for place, each in enumerate(IDS):
        np.save(source / f"{each}.npy", VALS[place])
    path = source / "b.npy"
    path.write_bytes(path.read_bytes()[:-2])
    refused(home, source, "b.npy: found 80,126 bytes; expected 80,128, as its header says")


def test_wfdb_of_other_leads_and_rates(home, source):
    for place, each in enumerate(IDS):
        write_wfdb(source / "wfdb", each, VALS[place], [*LEADS[:7], "V9" if each == "b" else "V6"])
    refused(home, source, "E06 b.hea: found leads I, II, V1, V2, V3, V4, V5, V9")
    for place, each in enumerate(IDS):
        write_wfdb(source / "wfdb", each, VALS[place], LEADS, hz=250)
    refused(home, source, "E06 a.hea: found 5000 samples at 250 Hz; expected 5000 at 500 Hz")


def test_signals_in_two_places(home, source):
    write_npz(source, IDS, VALS)
    np.save(source / "a.npy", VALS[0])
    with pytest.raises(UsageError, match=r"found signals in ecg\.npz") as caught:
        lydus.load(home, source)
    assert "lydus.toml" in str(caught.value)


def test_row_groups_and_shards_hold_every_record_once(tmp_path, monkeypatch):
    from warehouse.load import signal_counts

    monkeypatch.setattr(signal_counts, "RECORDS_PER_SHARD", 2 * RECORDS_PER_GROUP)
    n = 5 * RECORDS_PER_GROUP + 3
    vals = np.random.default_rng(1).integers(-99, 99, (n, 2, 10)).astype(np.int16)
    with CountsWriter(tmp_path) as writer:
        for first in range(0, n, 50):
            some = vals[first : first + 50]
            writer.add([str(first + k) for k in range(len(some))], some, Scale(("I", "II"), 10, 1.0))
    import pyarrow.parquet as pq

    files = sorted((tmp_path / "signal").glob("*.parquet"))
    rows = [each for file in files for each in pq.read_table(file).to_pylist()]
    assert [pq.read_metadata(file).num_rows for file in files] == [64, 64, 35]
    assert [each["record_id"] for each in rows] == [str(k) for k in range(n)]
    assert (np.array([each["samples"] for each in rows]) == vals.reshape(n, -1)).all()
    assert writer.facts().num_rows == n
    column = pq.read_metadata(files[0]).row_group(0).column(8)
    assert (column.path_in_schema, column.compression) == ("samples.list.element", "ZSTD")
    assert "DELTA_BINARY_PACKED" in column.encodings
