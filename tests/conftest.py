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
