"""Fixtures of every room."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """Facts and golden values, no part of the repository: beside the checkout, or $LEADHOUSE_SHARED."""
    folder = Path(os.environ.get("LEADHOUSE_SHARED") or Path(__file__).parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip(f"no shared folder at {folder}; set LEADHOUSE_SHARED to run this test")
    return folder


@pytest.fixture(scope="session")
def real_home(shared: Path, tmp_path_factory: pytest.TempPathFactory):
    """The 482 real annotation files, loaded and built once; read it, never write to it."""
    from warehouse.home import Home
    from warehouse.load.vitaldb_arrhythmia import load
    from warehouse.materialize import materialize

    home = Home(tmp_path_factory.mktemp("real") / "data")
    load(home, shared / "data" / "arrdb")
    materialize(home)
    return home


def _synthetic(place: Path, signals: bool):
    from warehouse.home import Home
    from warehouse.load.vitaldb_arrhythmia import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_vitaldb_release

    write_vitaldb_release(place / "release", seconds=180, signals=signals)
    home = Home(place / "data")
    load(home, place / "release", signals=place / "release" / "vital" if signals else None)
    materialize(home)
    return home


@pytest.fixture(scope="session")
def synthetic_home(tmp_path_factory: pytest.TempPathFactory):
    """A synthetic release without signals, loaded and built once; read it, never write to it."""
    return _synthetic(tmp_path_factory.mktemp("synthetic"), signals=False)


@pytest.fixture(scope="session")
def signal_home(tmp_path_factory: pytest.TempPathFactory):
    """The same with signals, so that missing ECG and the clock are checked."""
    return _synthetic(tmp_path_factory.mktemp("signals"), signals=True)


@pytest.fixture(scope="session")
def lydus_home(tmp_path_factory: pytest.TempPathFactory):
    """A synthetic LYDUS release with signals of its first records, loaded and built once; never write to it."""
    from warehouse.home import Home
    from warehouse.load.lydus import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_lydus_release

    place = tmp_path_factory.mktemp("lydus")
    write_lydus_release(place / "release", records=300, typos=0.02)
    home = Home(place / "data")
    load(home, place / "release")
    materialize(home)
    return home


HEDGED = (
    "Possible left ventricular hypertrophy",
    "Probable left ventricular hypertrophy",
    "Possible, probably inferior infarct, age undetermined",
    "Left ventricular hypertrophy or right ventricular hypertrophy",
    "Left ventricular hypertrophy -or- right ventricular hypertrophy",
    "No left ventricular hypertrophy",
    "Probable left ventricular hypertrophy or right ventricular hypertrophy",
    "Atrial fibrillation\nPossible inferior infarct\n** ** ACUTE MI / STEMI ** **",
    "Sinus rhythm\nWhen compared with ECG of 01-JAN-2010 09:30,\nPossible inferior infarct, age undetermined",
    "Sinus rhythm\nWhen compared with ECG of 01-JAN-2010 09:30,\nInferior infarct, age undetermined",
    "Likely inferior infarct, age undetermined\nSinus bradycardia",
)
"""What every fifth record says in hedged_home."""


@pytest.fixture(scope="session")
def hedged_home(tmp_path_factory: pytest.TempPathFactory):
    """A synthetic LYDUS release with hedges of every kind, alone and joined with other reasons; never write to it."""
    import csv

    from warehouse.home import Home
    from warehouse.load.lydus import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_lydus_release

    place = tmp_path_factory.mktemp("hedged")
    write_lydus_release(place / "release", records=600, signals=False)
    file = place / "release" / "metadata.csv"
    with file.open(encoding="utf-8-sig", newline="") as text:
        rows = list(csv.DictReader(text))
    for number, row in enumerate(rows[::5]):
        row["dx"] = HEDGED[number % len(HEDGED)]
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, rows[0].keys(), quoting=csv.QUOTE_MINIMAL)
        writer.writeheader()
        writer.writerows(rows)
    home = Home(place / "data")
    load(home, place / "release")
    materialize(home)
    return home


@pytest.fixture(scope="session")
def ptbxl_home(shared: Path, tmp_path_factory: pytest.TempPathFactory):
    """The 500 real PTB-XL rows with their signals at 100 Hz, loaded and built once; never write to it."""
    from warehouse.home import Home
    from warehouse.load.ptbxl import load
    from warehouse.materialize import materialize

    home = Home(tmp_path_factory.mktemp("ptbxl") / "data")
    load(home, shared / "data" / "ptbxl")
    materialize(home)
    return home


@pytest.fixture(scope="session")
def heartbeat_home(tmp_path_factory: pytest.TempPathFactory):
    """Synthetic releases like MIT-BIH and PTB, loaded and built once; never write to it."""
    from warehouse.home import Home
    from warehouse.load import mitbih, ptbdb
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_mitbih_release, write_ptbdb_release

    place = tmp_path_factory.mktemp("heartbeats")
    write_mitbih_release(place / "mitbih")
    write_ptbdb_release(place / "ptbdb", patients=8)
    home = Home(place / "data")
    mitbih.load(home, place / "mitbih", workers=1)
    ptbdb.load(home, place / "ptbdb", workers=1)
    materialize(home)
    return home


@pytest.fixture(scope="session")
def mitdb_home(shared: Path, tmp_path_factory: pytest.TempPathFactory):
    """All 48 real records of MIT-BIH, loaded and built once; never write to it."""
    from warehouse.home import Home
    from warehouse.load.mitbih import load
    from warehouse.materialize import materialize

    home = Home(tmp_path_factory.mktemp("mitdb") / "data")
    load(home, shared / "data" / "mitdb")
    materialize(home)
    return home
