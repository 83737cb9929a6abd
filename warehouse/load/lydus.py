"""``load lydus``: the metadata of a LYDUS release, its statement lines, its split and, where they are, its signals.

Checks carry the codes of the import contract: E… rejects the release, W… is counted and kept. What needs label
rules (E05 reviewed values, E10 share of unmapped lines) are audits after ``materialize``.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from warehouse.errors import InputError, Problem, UsageError
from warehouse.home import Home, generation, writing
from warehouse.load import raw
from warehouse.load.bar import bar
from warehouse.load.cards import card_of
from warehouse.load.lydus_records import DATASET, Metadata, read_metadata
from warehouse.load.lydus_source import find_source
from warehouse.load.lydus_split import Split, draw_sample, draw_split, read_split, split_table
from warehouse.load.report import LoadReport, report_before, write_report
from warehouse.load.signal_counts import FACT, SIGNAL
from warehouse.load.tables_in import file_as_source
from warehouse.splits import declaration

RELEASE_RECORDS = 50_000
PROFILES = ("any", "release")


def load(
    home: Home,
    source: Path,
    *,
    split: Path | None = None,
    dx_separator: str | None = None,
    profile: str = "any",
    progress: bool = False,
) -> LoadReport:
    """Load a release into ``home``.

    ``source``: its folder, a ``lydus.toml`` or the metadata file alone. ``split``: the published split; without it
    one is drawn, and the report says so. ``profile`` ``release`` also wants the published number of records.
    Raises InputError with everything that is wrong; the home then keeps what it has.
    """
    if profile not in PROFILES:
        raise UsageError(f"found profile {profile!r}; expected one of {', '.join(PROFILES)}")
    parts = find_source(source)
    report = LoadReport(DATASET, card_of(DATASET)["schema"])
    metadata = read_metadata(parts, dx_separator, report)
    declared = declaration(report.schema)
    ids = metadata.ids
    if profile == "release" and len(ids) != RELEASE_RECORDS:
        raise InputError(
            f"{metadata.name}: not the whole release, nothing loaded",
            [Problem(f"E12 {metadata.name}", f"{len(ids):,} records", f"{RELEASE_RECORDS:,}")],
            "copy the release again; --profile any loads a part of it",
        )
    if split is not None and split.is_file():
        report.sources.append(file_as_source(split, len(ids)))
    membership = read_split(split, ids, declared) if split else draw_split(ids, metadata.patients, declared)
    report.release = _release(membership)
    report.notes.append(f"split: {membership.rule}")
    signals = record_ids = None
    if parts.signals is not None:
        from warehouse.load.lydus_signals import match_keys, open_signals

        signals = open_signals(parts.signals, parts.uv_per_count)
        record_ids = match_keys(signals, ids)
    with home.writer(f"load {DATASET}"), writing(home.path), generation(home.raw / DATASET) as folder:
        _write_labels(folder, metadata, membership, declared, report)
        with bar(len(ids), "signals", progress) if signals else nullcontext() as step:
            _write_signals(folder, home.raw / DATASET, signals, record_ids, report, step)
        write_report(folder, report)
    return report


def _write_labels(
    folder: Path, metadata: Metadata, membership: Split, declared: dict, report: LoadReport
) -> None:
    for name in ("record", "dx_line", "dx_text"):
        raw.write_table(folder, name, getattr(metadata, name), report)
    sampled = draw_sample(membership, declared)
    raw.write_table(folder, "split", split_table(membership, sampled), report)


def _write_signals(folder: Path, before: Path, signals, record_ids, report: LoadReport, step) -> None:
    if signals is None:
        raw.write_empty_table(folder, "signal", SIGNAL, report)
        raw.write_empty_table(folder, "signal_fact", FACT, report)
        then = report_before(before)
        rows = then["tables"].get("signal_fact", {}).get("rows", 0) if then else 0
        if rows:
            report.notes.append(
                f"signals: those of the load before ({rows:,} records) are dropped, for this source has none; "
                "load the folder that holds both to have them again"
            )
        report.notes.append("signals: none loaded; flat records are not known")
        return
    from warehouse.load.lydus_signals import load_signals

    writer = load_signals(signals, record_ids, folder, report, step)
    raw.enter_table(folder, "signal", report)
    raw.write_table(folder, "signal_fact", writer.facts(), report)


def _release(membership: Split) -> dict:
    """Which release this is: the published split fits the specified one alone."""
    specified = next(each["name"] for each in card_of(DATASET)["releases"] if each["is_specified"])
    return {
        "name": specified if membership.is_published else None,
        "is_specified": membership.is_published,
        "specified": specified,
        "split": membership.rule,
        "note": "its published split fits"
        if membership.is_published
        else f"{membership.rule}; counts will differ",
    }
