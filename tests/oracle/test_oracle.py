"""The oracle on whole releases: it reads every layout, and every segment is the label view's."""

from __future__ import annotations

import pytest

from oracle import Ecg, label_case, read_case, read_folder
from warehouse.home import Home
from warehouse.query import connect


def oracle_rows(cases, signals: dict[int, Ecg]) -> list[tuple]:
    return [
        (
            case_id,
            *segment[:3],
            "|".join(segment.rhythms) or None,
            "|".join(segment.rhythms_seen) or None,
            *segment[5:],
        )
        for case_id, rows in cases.items()
        for segment in label_case(rows, signals.get(case_id))
    ]


def view_rows(home: Home) -> list[tuple]:
    return (
        connect(home)
        .execute(
            """SELECT case_id, start_s, label, reason, rhythms, rhythms_seen, beats, premature_beats,
            bad_signal_quality, ecg FROM vitaldb.segment_label_v0 ORDER BY case_id, start_s"""
        )
        .fetchall()
    )


def loaded_signals(home: Home) -> dict[int, Ecg]:
    con = connect(home)
    holes: dict[int, list[tuple[int, int]]] = {}
    for case_id, first, size in con.execute(
        "SELECT case_id, first_sample, n_samples FROM raw_vitaldb.signal_run WHERE kind = 'missing'"
    ).fetchall():
        holes.setdefault(case_id, []).append((first, size))
    return {
        case_id: Ecg(hz, first, samples, tuple(holes.get(case_id, ())))
        for case_id, hz, first, samples in con.execute(
            "SELECT case_id, hz, first_sample, n_samples FROM raw_vitaldb.signal_case"
        ).fetchall()
    }


def assert_same(found: list[tuple], wanted: list[tuple]) -> None:
    assert len(found) == len(wanted)
    differing = [(a, b) for a, b in zip(found, wanted, strict=True) if a != b]
    shown = "\n".join(f"view   {a}\noracle {b}" for a, b in differing[:5])
    assert not differing, f"{len(differing)} segments differ:\n{shown}"


def test_synthetic_release_without_signals(synthetic_home: Home):
    wanted = oracle_rows(read_folder(synthetic_home.path.parent / "release"), {})
    assert len(wanted) > 800
    assert_same(view_rows(synthetic_home), wanted)


def test_synthetic_release_with_signals(signal_home: Home):
    signals = loaded_signals(signal_home)
    assert len(signals) == 24
    wanted = oracle_rows(read_folder(signal_home.path.parent / "release"), signals)
    assert {row[-1] for row in wanted} == {"present", "missing"}
    assert_same(view_rows(signal_home), wanted)


def test_every_segment_of_the_real_files(real_home: Home, shared):
    wanted = oracle_rows(read_folder(shared / "data" / "arrdb"), {})
    assert len(wanted) == 107_420
    assert_same(view_rows(real_home), wanted)


@pytest.mark.parametrize(
    ("header", "line"),
    [
        (
            "time_second,beat_type,rhythm_label,bad_signal_quality,bad_signal_quality_label",
            "1.5,V,MAT,True,Start1",
        ),
        (
            "time_second,beat_type,rhythm_label,bad_signal_quality_label,bad_signal_quality",
            "1.5,V,MAT,Start1,True",
        ),
        ("caseid,beat_type,time_second,rhythm_label,bad_signal_quality", "7.0,V,1.5,MAT,TRUE"),
    ],
)
@pytest.mark.parametrize("opening", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_each_layout_is_read_after_its_own_header(tmp_path, header, line, opening, ending):
    path = tmp_path / "Annotation_file_7.csv"
    path.write_bytes(f"{opening}{header}{ending}{line}{ending}".encode())
    assert read_case(path) == [(1_500_000, "V", "WAP/MAT", True)]


@pytest.mark.parametrize("fields", ["1.5,V,Sinus,True,", "1.5,X,N,True,", "1.5,V,N,yes,", "x,V,N,True,"])
def test_an_unknown_word_is_refused(tmp_path, fields):
    path = tmp_path / "Annotation_file_7.csv"
    path.write_text(
        f"time_second,beat_type,rhythm_label,bad_signal_quality,bad_signal_quality_label\n{fields}\n",
        encoding="utf-8",
    )
    with pytest.raises((ValueError, KeyError)):
        read_case(path)
