"""The synthetic LYDUS release: the format, the same bytes, signals that show what the statements say."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from lydus_files import table_of

from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load import lydus
from warehouse.maps import map_rows
from warehouse.synthetic import release_findings, write_lydus_release
from warehouse.synthetic.lydus_heart import HZ, draw_beats, eight_leads
from warehouse.synthetic.lydus_plan import BLOCK, BOTH, FLAT, HUGE, SILENT, draw_block
from warehouse.synthetic.lydus_text import template_count, templates
from warehouse.synthetic.lydus_words import LEADS, RHYTHM, lydus_words

RECORDS = 60
WORDS = lydus_words()
LEAD_I, II, V1, V4, V5, V6 = (LEADS.index(lead) for lead in ("I", "II", "V1", "V4", "V5", "V6"))


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    write_lydus_release(folder, records=RECORDS)
    return folder


@pytest.fixture(scope="module")
def home(release):
    home = Home(release.parent / "data")
    lydus.load(home, release)
    return home


def statements(home: Home) -> dict[str, list[str]]:
    text = {each["text_id"]: each["text"] for each in table_of(home, "dx_text")}
    found: dict[str, list[str]] = {}
    for each in table_of(home, "dx_line"):
        found.setdefault(each["record_id"], []).append(text[each["text_id"]])
    return found


def test_it_loads_without_a_fault_and_keeps_the_order(home):
    truth = release_findings(RECORDS)
    records = table_of(home, "record")
    assert [each["record_id"] for each in records] == list(truth)
    assert [each["record_id"] for each in table_of(home, "signal")] == list(truth)
    assert len({each["patient_id"] for each in records}) < RECORDS


def test_every_line_is_one_of_its_findings(home):
    said = statements(home)
    for record_id, findings in release_findings(RECORDS).items():
        own = " | ".join(text for finding in findings for text, _ in WORDS.lines[finding])
        plain = re.sub(r"\{[a-z]+\}", "", own)
        for line in said[record_id] if findings else []:
            bare = re.sub(
                r"\d\d-[A-Z]{3}-\d{4}( \d\d:\d\d)?|BY \d+",
                lambda match: "BY " if "BY" in match[0] else "",
                line,
            )
            parts = bare.split(" with ") if " with " in bare and bare not in plain else [bare]
            assert all(" ".join(part.split()) in " ".join(plain.split()) for part in parts), (line, findings)


def test_special_records(home):
    ids = [each["record_id"] for each in table_of(home, "record")]
    facts = {each["record_id"]: each for each in table_of(home, "signal_fact")}
    assert {each for each, fact in facts.items() if fact["flat"]} == {ids[FLAT], ids[BOTH]}
    nothing = [row["key"] for row in map_rows("lydus_whole_line") if row["kind"] == "no_analysis"]
    silent = {
        each
        for each, lines in statements(home).items()
        if re.sub(r"[^0-9a-z*/]", "", lines[0].lower()) in nothing
    }
    assert silent == {ids[SILENT], ids[BOTH]}
    assert facts[ids[HUGE]]["max_count"] * facts[ids[HUGE]]["uv_per_count"] > 32767


def test_the_same_arguments_give_the_same_bytes(release, tmp_path):
    write_lydus_release(tmp_path, records=RECORDS)
    for name in ("metadata.csv", "ecg.npz"):
        digests = {hashlib.sha256((folder / name).read_bytes()).hexdigest() for folder in (release, tmp_path)}
        assert len(digests) == 1


def test_another_seed_is_another_release(release, tmp_path):
    write_lydus_release(tmp_path, records=RECORDS, seed=1, signals=False)
    assert (tmp_path / "metadata.csv").read_bytes() != (release / "metadata.csv").read_bytes()
    assert not set(release_findings(RECORDS)) & set(release_findings(RECORDS, seed=1))


def test_a_longer_release_begins_with_the_same_records(release, tmp_path):
    write_lydus_release(tmp_path, records=RECORDS + 5)
    short, long = np.load(release / "ecg.npz"), np.load(tmp_path / "ecg.npz")
    assert (long["keys"][:RECORDS] == short["keys"]).all()
    assert (long["vals"][:RECORDS] == short["vals"]).all()
    assert (tmp_path / "metadata.csv").read_bytes().startswith((release / "metadata.csv").read_bytes())


def test_the_format_of_the_parent_set(release):
    archive = np.load(release / "ecg.npz")
    assert archive["vals"].dtype == np.int16
    assert archive["vals"].shape == (RECORDS, 40_000)
    assert all(re.fullmatch(r"\d{8}_HID\d{7}_20[12]\d{5}", key) for key in archive["keys"])
    assert (release / "metadata.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    header = pa_csv.read_csv(
        release / "metadata.csv", parse_options=pa_csv.ParseOptions(newlines_in_values=True)
    )
    assert {"new_id", "premature beat", "dx", "paxis"} <= set(header.column_names)


@pytest.mark.parametrize("table", ["m.csv.gz", "m.csv.xz", "m.parquet"])
@pytest.mark.parametrize("separator", ["literal-newline", "pipe"])
def test_other_tables_say_the_same(home, tmp_path, table, separator):
    write_lydus_release(tmp_path / "source", records=RECORDS, signals=False, table=table, separator=separator)
    other = Home(tmp_path / "data")
    lydus.load(other, tmp_path / "source")
    assert statements(other) == statements(home)


def test_without_patients_as_in_the_50k_release(tmp_path):
    write_lydus_release(tmp_path / "source", records=30, patients=False)
    assert all(re.fullmatch(r"\d{8}", key) for key in np.load(tmp_path / "source" / "ecg.npz")["keys"])
    home = Home(tmp_path / "data")
    report = lydus.load(home, tmp_path / "source")
    assert any("by record" in note for note in report.notes)
    assert {each["patient_id"] for each in table_of(home, "record")} == {None}


@pytest.mark.parametrize("options", [{"records": 0}, {"separator": ";"}, {"table": "m.xlsx"}])
def test_wrong_usage(tmp_path, options):
    with pytest.raises(UsageError):
        write_lydus_release(tmp_path, **({"records": 3, "signals": False} | options))


def test_shares_of_the_classes_are_near_the_published_ones():
    published = {"NORM": 168, "Acute MI": 23, "Old MI": 159, "STTC": 683, "CD": 955, "HYP": 131, "PAC": 58, "PVC": 158,
                 "AFIB/AFL": 799, "TACHY": 44, "BRADY": 120}  # fmt: skip
    records = 2 * BLOCK
    counts = Counter()
    for findings in release_findings(records).values():
        counts.update(
            {
                name
                for each in findings
                for name in WORDS.text["classes"][WORDS.index(each)].split(";")
                if name
            }
        )
    assert set(counts) == set(published)
    for name, count in published.items():
        assert 0.5 < counts[name] / records / (count / 2000) < 2, name


def test_axes_exclude_each_other_and_only_with_is_kept():
    for findings in release_findings(BLOCK).values():
        axes = [WORDS.axis_of[WORDS.index(each)] for each in findings]
        assert len(set(axes)) == len(axes)
        rhythm = next((each for each in findings if WORDS.axis_of[WORDS.index(each)] == RHYTHM), None)
        for each in findings:
            others = WORDS.text["only_with"][WORDS.index(each)].split()
            assert not others or rhythm in others


def test_reviewed_columns_disagree_now_and_then(tmp_path):
    write_lydus_release(tmp_path, records=3000, signals=False, table="m.parquet")
    rows = pq.read_table(tmp_path / "m.parquet").to_pylist()
    truth = release_findings(3000)
    usual = WORDS.text["rhythm"][WORDS.on("default")[0]]
    wrong = 0
    for each in rows:
        said = [WORDS.text["rhythm"][WORDS.index(finding)] for finding in truth[each["new_id"]]]
        wrong += bool(said) and each["rhythm"] != ([word for word in said if word] or [usual])[-1]
    assert 0.005 < wrong / 3000 < 0.03


def test_the_benchmark_release(tmp_path):
    write_lydus_release(tmp_path, records=2 * BLOCK, signals=False, table="m.parquet", dated=True, typos=0.05)
    lines = [
        line
        for cell in pq.read_table(tmp_path / "m.parquet", columns=["dx"])["dx"].to_pylist()
        for line in cell.split("\n")
    ]
    assert 4.8 < len(lines) / (2 * BLOCK) < 5.2
    assert 0.28 < np.mean([bool(re.search(r"\d\d-[A-Z]{3}-\d{4}", line)) for line in lines]) < 0.32
    table = templates()
    bare = {re.sub(r"\d+", "0", f"{a}01-JAN-2015{b}") for a, b in _pairs(table, 0, table.count)}
    bare |= {re.sub(r"\d+", "0", f"{a}01-JAN-2015 08:15{b}") for a, b in _pairs(table, 0, table.count)}
    bare |= {re.sub(r"\d+", "0", a + "0" * bool(b) + b) for a, b in _pairs(table, 0, table.count)}
    misspelt = [
        line for line in lines if re.sub(r"\d+", "0", re.sub(r"-[A-Z]{3}-", "-JAN-", line)) not in bare
    ]
    assert 0.04 < len(misspelt) / len(lines) < 0.06
    assert template_count(WORDS) >= 300


def _pairs(table, first: int, last: int) -> list[tuple[str, str]]:
    return list(
        zip(
            table.before.slice(first, last).to_pylist(),
            table.after.slice(first, last).to_pylist(),
            strict=True,
        )
    )


def test_without_times_there_are_fewer_distinct_lines(tmp_path):
    distinct = []
    for times in (True, False):
        write_lydus_release(
            tmp_path, records=BLOCK, signals=False, table="m.parquet", dated=True, times=times
        )
        cells = pq.read_table(tmp_path / "m.parquet", columns=["dx"])["dx"].to_pylist()
        distinct.append(len({line for cell in cells for line in cell.split("\n")}))
    assert distinct[1] < 0.8 * distinct[0]


def heart(*findings: str, rate: float = 72, seed: int = 0) -> np.ndarray:
    """(8, 5000) mV of a record with these findings, less the slow wander."""
    axes = {axis: -1 for axis in draw_block(WORDS, 0, 0).finding}
    chosen = {WORDS.axis_of[WORDS.index(each)]: WORDS.index(each) for each in findings}
    counts = eight_leads(
        WORDS, axes | chosen, rate, np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    )
    return counts * 0.00488


def beats_of(*findings: str, rate: float = 72, seed: int = 0):
    axes = {axis: -1 for axis in draw_block(WORDS, 0, 0).finding}
    chosen = {WORDS.axis_of[WORDS.index(each)]: WORDS.index(each) for each in findings}
    beats = draw_beats(WORDS, axes | chosen, rate, np.random.default_rng([seed, 1]))
    inside = (beats.at_s > 0.4) & (beats.at_s < 9.2)
    return beats.at_s[inside], beats.early[inside]


def mean_beat(*findings: str, rate: float = 72) -> np.ndarray:
    """(8, w) mV, from 400 ms before the R wave, against its own baseline."""
    pieces = []
    for seed in range(4):
        signal = heart(*findings, rate=rate, seed=seed)
        at, early = beats_of(*findings, rate=rate, seed=seed)
        for each in at[~early]:
            first = round((each - 0.4) * HZ)
            pieces.append(signal[:, first : first + 400])
    beat = np.mean(pieces, axis=0)
    return beat - np.median(beat[:, 20:50], axis=1, keepdims=True)


R = 200
"""The R wave's place in :func:`mean_beat`."""


def width_ms(beat: np.ndarray) -> float:
    """How long any lead is away from rest around the R wave."""
    size = np.abs(beat[:, R - 60 : R + 60]).max(axis=0)
    return 2.0 * (size > 0.25 * size.max()).sum()


def test_detected_peaks_are_where_the_beats_were_laid():
    sleepecg = pytest.importorskip("sleepecg")
    for seed in range(5):
        found = sleepecg.detect_heartbeats(heart("sinus", rate=64, seed=seed)[II], HZ) / HZ
        at, _ = beats_of("sinus", rate=64, seed=seed)
        assert all(np.abs(found - each).min() < 0.02 for each in at)
        assert len(found) <= len(at) + 3


@pytest.mark.parametrize("rate", [45, 72, 130])
def test_rate(rate):
    at, _ = beats_of("sinus", rate=rate)
    assert abs(60 / np.diff(at).mean() - rate) < 0.05 * rate


def test_fibrillation_is_irregular_without_p_waves():
    spread = {
        name: np.mean([np.std(np.diff(beats_of(name, seed=seed)[0])) for seed in range(6)])
        for name in ("sinus", "fibrillation")
    }
    assert spread["fibrillation"] > 5 * spread["sinus"]
    p_wave = slice(R - 95, R - 65)
    assert mean_beat("sinus")[II, p_wave].max() > 0.07
    assert mean_beat("fibrillation")[II, p_wave].max() < 0.05


def test_flutter_waves_have_their_own_clock():
    spectrum = np.abs(np.fft.rfft(heart("flutter", rate=75)[V1] - heart("flutter", rate=75)[V1].mean()))
    plain = np.abs(np.fft.rfft(heart("sinus", rate=75)[V1] - heart("sinus", rate=75)[V1].mean()))
    band = slice(46, 55)
    assert spectrum[band].max() > 3 * plain[band].max()


@pytest.mark.parametrize(
    "finding", ["right_bundle", "left_bundle", "right_bundle_left_anterior", "unspecific_delay", "paced"]
)
def test_wide_qrs(finding):
    usual = width_ms(mean_beat("sinus"))
    found = width_ms(mean_beat(finding) if finding == "paced" else mean_beat("sinus", finding))
    assert found > 1.3 * usual


def test_bundle_branch_blocks_point_their_own_way():
    late = slice(R + 22, R + 42)
    assert mean_beat("sinus", "right_bundle")[V1, late].max() > 0.4
    assert mean_beat("sinus", "left_bundle")[V1, late].min() < -0.4
    assert mean_beat("sinus", "left_bundle")[V6, late].min() > 0.2


def test_first_degree_block_is_a_longer_pr():
    usual, long = mean_beat("sinus", rate=50), mean_beat("sinus", "first_degree", rate=50)
    assert np.argmax(usual[II, : R - 20]) - np.argmax(long[II, : R - 20]) == pytest.approx(45, abs=6)


@pytest.mark.parametrize(("finding", "wide"), [("ventricular_early", True), ("atrial_early", False)])
def test_premature_beats_come_early(finding, wide):
    shapes = []
    for seed in range(6):
        signal = heart("sinus", finding, seed=seed)
        axes = {"sinus", finding}
        at, early = beats_of(*sorted(axes, key=lambda each: each != "sinus"), seed=seed)
        rr = np.diff(at)
        assert early.sum() >= 1
        places = np.flatnonzero(early[1:])
        assert (rr[places] < 0.75 * np.median(rr)).all()
        for each in at[early]:
            first = round((each - 0.4) * HZ)
            piece = signal[:, first : first + 400]
            shapes.append(piece - np.median(piece, axis=1, keepdims=True))
    assert (width_ms(np.mean(shapes, axis=0)) > 1.4 * width_ms(mean_beat("sinus"))) == wide


def test_hypertrophy_is_tall_and_strained():
    usual, tall = mean_beat("sinus"), mean_beat("sinus", "left_ventricle")
    assert tall[V5, R - 10 : R + 10].max() > 1.6 * usual[V5, R - 10 : R + 10].max()
    assert tall[V1].min() < 1.6 * usual[V1].min()
    assert tall[V5, R + 110 : R + 180].min() < -0.1 < usual[V5, R + 110 : R + 180].min()


def test_infarcts_have_q_waves_where_they_are():
    early = slice(R - 20, R)
    usual = mean_beat("sinus")
    assert mean_beat("sinus", "old_inferior")[II, early].min() < usual[II, early].min() - 0.25
    assert mean_beat("sinus", "old_anterior")[V4, early].min() < usual[V4, early].min() - 0.25
    assert mean_beat("sinus", "old_lateral")[V6, early].min() < usual[V6, early].min() - 0.2


@pytest.mark.parametrize(("finding", "lead", "low", "high"), [
    ("acute_inferior", II, 0.25, 0.8), ("stated_anterior", V4, 0.25, 0.9), ("acute_lateral", V6, 0.2, 0.8),
    ("low_st", V5, -0.3, -0.06), ("injured", V4, -0.7, -0.2), ("sinus", V5, -0.05, 0.08),
])  # fmt: skip
def test_st_segment(finding, lead, low, high):
    level = mean_beat("sinus", finding)[lead, R + 55 : R + 75].mean()
    assert low < level < high


@pytest.mark.parametrize(
    ("finding", "low", "high"), [("sinus", 0.15, 0.5), ("flat_t", -0.1, 0.08), ("inverted_t", -0.8, -0.2)]
)
def test_t_wave(finding, low, high):
    segment = mean_beat("sinus", finding)[V5, R + 110 : R + 185]
    assert low < segment[np.argmax(np.abs(segment))] < high


def test_long_qt_moves_the_t_wave():
    usual, long = mean_beat("sinus", rate=60), mean_beat("sinus", "long_qt", rate=60)
    assert 2 * (np.argmax(long[V5, R + 60 :]) - np.argmax(usual[V5, R + 60 :])) == pytest.approx(70, abs=10)


def test_derived_limb_leads_close_the_triangle():
    """The stored leads are not I, II, III: the loader's E09 must stay silent, and III = II − I is a plausible lead."""
    signal = heart("sinus")
    third = signal[II] - signal[LEAD_I]
    assert 0.1 < np.ptp(third) < 3
    assert np.abs(third - signal[V1]).mean() > 0.05


def test_a_patient_keeps_size_and_lasting_findings():
    plan = draw_block(WORDS, 0, 0)
    pairs = [k for k in range(1, BLOCK) if plan.patient[k] == plan.patient[k - 1]]
    assert 0.25 < len(pairs) / BLOCK < 0.35
    same = [plan.finding["hypertrophy"][k] == plan.finding["hypertrophy"][k - 1] for k in pairs]
    assert np.mean(same) > 0.9
