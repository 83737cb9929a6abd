"""Leads in mV from the stored counts, and the resolution of 16-bit records."""

from __future__ import annotations

import json
from pathlib import Path

import lydus_files
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendering import EIGHT, TASK, small_home

from pipelines.render.leads import NoPage
from pipelines.render.signals import Group, WfdbGain, find_records, leads_of, read_group, rounded
from warehouse.leads import LEADS, complete
from warehouse.load.signal_counts import CountsWriter, Scale
from warehouse.spec import find_spec

RULE = WfdbGain.of(find_spec(TASK))


def stored(folder: Path, records: list[tuple[np.ndarray, Scale]]):
    with CountsWriter(folder) as writer:
        for number, (counts, scale) in enumerate(records):
            writer.add([str(number)], counts[None].astype(np.int16), scale)
    files = sorted((folder / "signal").glob("*.parquet"))
    found = find_records(files, {str(number) for number in range(len(records))})
    leads = {}
    for group, rows in found.items():
        table = read_group(group)
        leads |= {record: leads_of(table, row) for record, row in rows.items()}
    return [leads[str(number)] for number in range(len(records))], writer.facts().to_pylist()


def test_millivolts_are_those_of_the_wfdb_package(tmp_path):
    import wfdb

    from warehouse.load.wfdb_signals import read_wfdb

    rng = np.random.default_rng(0)
    counts = rng.integers(-32768, 32767, (8, 5000))
    counts[2, 40:60] = -32768
    records = []
    for number, gain in enumerate(("1000.0(0)/mV", "204.8(-7)/mV", "200", "0.005(3)/uV")):
        header = lydus_files.write_wfdb(tmp_path, f"r{number}", counts.astype(np.int16), EIGHT, gain=gain)
        record = read_wfdb(header)
        records.append((record.counts, record.scale))
    found, _ = stored(tmp_path, records)
    for number, (leads, hz) in enumerate(found):
        theirs = wfdb.rdrecord(str(tmp_path / f"r{number}"))
        scale = 1000 if theirs.units[0] == "uV" else 1
        assert (list(leads), hz) == (theirs.sig_name, theirs.fs)
        np.testing.assert_allclose(
            np.array(list(leads.values())).T, theirs.p_signal / scale, rtol=0 if number in (0, 2) else 5e-16
        )
        assert np.isnan(leads["V1"][40:60]).all()


def test_the_rule_is_the_specs():
    assert WfdbGain(1, 32.767, 10) == RULE
    assert WfdbGain.of(find_spec("cinc2024-ptbxl-image@0")) is None


@pytest.mark.parametrize(
    ("peak", "uv"), [(1.0, 1), (32.767, 1), (-32.767, 1), (32.768, 10), (-32.768, 10), (300.0, 10)]
)
def test_ten_microvolts_a_count_only_beyond_the_range(peak, uv):
    leads = {lead: np.zeros(10) for lead in LEADS}
    leads["V3"][4] = peak
    found, uv_per_count = rounded(leads, RULE)
    assert uv_per_count == uv
    assert found["V3"][4] == round(peak * 1000 / uv) / (1000 / uv)


def test_a_derived_lead_beyond_the_range_decides_too():
    leads = {lead: np.zeros(10) for lead in EIGHT}
    leads["I"][3], leads["II"][3] = -20.0, 20.0
    found, uv_per_count = rounded(leads, RULE)
    assert (found["III"][3], uv_per_count) == (40.0, 10)


def test_what_no_16_bits_hold_is_refused():
    with pytest.raises(NoPage, match=r"a value of 328.0 mV; expected at most 327.67 mV"):
        rounded({"I": np.array([328.0])}, RULE)


def test_missing_values_stay_missing_and_empty_leads_do_no_harm():
    leads = {lead: np.zeros(4) for lead in EIGHT}
    leads["I"][1] = np.nan
    leads["V2"][:] = np.nan
    found, _ = rounded(leads, RULE)
    assert [lead for lead in LEADS if np.isnan(found[lead][1])] == ["I", "III", "aVR", "aVL", "aVF", "V2"]
    assert np.isnan(found["V2"]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([4.88, 1.0, 2.5, 20.0]), st.sampled_from([1, 40, 4000]))
def test_load_and_render_agree_on_how_far_a_record_goes(tmp_path_factory, seed, uv, size):
    rng = np.random.default_rng(seed)
    counts = np.clip(rng.normal(0, size, (8, 60)), -32768, 32767).astype(np.int16)
    ((leads, _),), (fact,) = stored(tmp_path_factory.mktemp("facts"), [(counts, Scale(EIGHT, 6, uv))])
    twelve = complete(leads)
    assert fact["extreme_uv"] == pytest.approx(
        1000 * max(np.abs(mv).max() for mv in twelve.values()), rel=1e-12
    )
    try:
        _, uv_per_count = rounded(leads, RULE)
    except NoPage:
        assert fact["extreme_uv"] > 327_670
    else:
        assert (uv_per_count > 1) == (fact["extreme_uv"] > 32_767)


def test_facts_of_records_without_a_value(tmp_path):
    nothing = np.full((8, 20), -32768)
    _, facts = stored(
        tmp_path, [(nothing, Scale(EIGHT, 2, 1.0, missing=-32768)), (nothing, Scale(EIGHT, 2, 1.0))]
    )
    assert [fact["extreme_uv"] for fact in facts] == [None, 32_768.0]


def test_row_groups_are_found_and_only_those_with_a_wanted_record(tmp_path):
    counts = np.zeros((8, 4))
    with CountsWriter(tmp_path) as writer:
        for number in range(70):
            writer.add([str(number)], counts[None].astype(np.int16), Scale(EIGHT, 1, 1.0))
    files = sorted((tmp_path / "signal").glob("*.parquet"))
    assert pq.ParquetFile(files[0]).num_row_groups == 3
    assert find_records(files, {"3", "66", "nobody"}) == {
        Group(files[0], 0): {"3": 3},
        Group(files[0], 2): {"66": 2},
    }


def test_huge_records_are_counted_the_same_by_load_by_the_manifest_and_by_verify(tmp_path):
    """A record of the synthetic release goes beyond the range in I and V1: whichever part it falls into."""
    from pipelines.render.stage import render_task
    from warehouse.audit import audit
    from warehouse.recount import recount

    vals = lydus_files.counts(4, seed=7)
    vals[2, 0, 50] = 20_000
    home = small_home(tmp_path, records=4, vals=vals)
    report = render_task(home, TASK, workers=1)
    told = {
        part: gain for part, each in report.manifest["parts"].items() if (gain := each["wfdb_gain"].get("10"))
    }
    assert list(told.values()) == [1]
    numbers = {number.what: number.found for number in recount(home, TASK).numbers}
    counted = {
        part: numbers[f"input.render.wfdb_gain.records.{part}"] for part in ("train", "validation", "test")
    }
    assert {part: count for part, count in counted.items() if count} == told
    found = {finding.name: finding.count for finding in audit(home, TASK)}
    assert found["task.lydus_ecg_image_gain_differs_v0"] == 0
    table = home.images / "lydus_ecg_image_v0" / "manifest.json"
    assert json.loads(table.read_text())["parts"] == report.manifest["parts"]
