"""`load` with signals: from a folder, by download, kept from the load before; one bad file costs one case."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socket
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.load.report import read_report
from warehouse.query import select
from warehouse.synthetic import write_vitaldb_release

DATASET = "vitaldb-arrhythmia"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("signals") / "release"
    write_vitaldb_release(place, cases=6, seconds=90)
    return place


@pytest.fixture
def server(release):
    """The release's .vital files over HTTP on loopback; gives the base URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(release / "vital"))
    ) as here:
        thread = threading.Thread(target=here.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{here.server_port}"
        here.shutdown()
        thread.join()


def run(*args: object, data: Path):
    return CliRunner().invoke(cli.main, [*map(str, args), "--data", str(data)], catch_exceptions=False)


def ecg(data: Path) -> dict[str, int]:
    """Segments by what their ECG is."""
    assert run("materialize", data=data).exit_code == 0
    query = "SELECT ecg, count(*) FROM task.vitaldb_arrhythmia_abnormal GROUP BY ecg"
    return dict(select(Home(data), query).fetchall())


def test_from_a_folder(release, tmp_path):
    result = run("load", DATASET, release, "--signals", release / "vital", "--workers", 1, data=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "not checked" not in ecg(tmp_path)
    assert sum(ecg(tmp_path).values()) > 80


def test_a_load_without_signals_keeps_them(release, tmp_path):
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path)
    before = ecg(tmp_path)
    assert "signals: kept from the load before" in run("load", DATASET, release, data=tmp_path).stdout
    assert ecg(tmp_path) == before


def test_without_signals_nothing_is_called_present(release, tmp_path):
    run("load", DATASET, release, data=tmp_path)
    assert set(ecg(tmp_path)) == {"not checked"}


def test_a_truncated_file_costs_its_own_case(release, tmp_path):
    vital = tmp_path / "vital"
    vital.mkdir()
    for path in (release / "vital").iterdir():
        (vital / path.name).write_bytes(path.read_bytes())
    bad = sorted(vital.iterdir())[0]
    bad.write_bytes(bad.read_bytes()[:-2000])
    data = tmp_path / "data"
    result = run("load", DATASET, release, "--signals", vital, data=data)
    assert result.exit_code == 1
    assert bad.name in result.stdout
    assert "1 cases were not loaded whole; the rest is loaded" in result.stderr
    assert len(read_report(Home(data), DATASET)["problems"]) == 1
    run("materialize", data=data)
    query = "SELECT DISTINCT record_id FROM task.vitaldb_arrhythmia_abnormal WHERE ecg = 'not checked'"
    assert select(Home(data), query).fetchall() == [(int(bad.stem),)]


def test_a_signals_folder_that_is_not_there(release, tmp_path):
    run("load", DATASET, release, data=tmp_path / "data")
    result = run("load", DATASET, release, "--signals", tmp_path / "nowhere", data=tmp_path / "data")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr
    assert run("materialize", data=tmp_path / "data").exit_code == 0


def test_a_signals_folder_without_signals_costs_none_of_those_loaded(release, tmp_path):
    data = tmp_path / "data"
    run("load", DATASET, release, "--signals", release / "vital", data=data)
    before = ecg(data)
    (tmp_path / "empty").mkdir()
    result = run("load", DATASET, release, "--signals", tmp_path / "empty", data=data)
    assert result.exit_code == 1
    assert "found no <caseid>.vital at any depth" in result.stderr
    assert ecg(data) == before


def test_by_download(release, tmp_path, server):
    result = run("load", DATASET, release, "--download", "--base-url", server, "--json", data=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert f"signals: 6 of 6 files from {server}" in json.loads(result.stdout)["notes"]
    assert "not checked" not in ecg(tmp_path)
    for path in (release / "vital").iterdir():
        assert (tmp_path / "downloads" / "vitaldb" / path.name).read_bytes() == path.read_bytes()


def test_a_download_that_lacks_a_case(release, tmp_path, server):
    missing = sorted((release / "vital").iterdir())[0]
    content = missing.read_bytes()
    missing.unlink()
    try:
        result = run("load", DATASET, release, "--download", "--base-url", server, data=tmp_path)
        assert result.exit_code == 1
        assert "404" in result.stdout
        assert missing.stem in result.stdout
        assert ecg(tmp_path)["not checked"] > 0
    finally:
        missing.write_bytes(content)
    result = run("load", DATASET, release, "--download", "--base-url", server, data=tmp_path)
    assert result.exit_code == 0
    assert "not checked" not in ecg(tmp_path)


def test_the_demo_then_another_release_keeps_no_signal_of_the_demo(release, tmp_path):
    """Its cases have the same numbers: its signals would mark the other's ECG as missing."""
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path / "data")
    write_vitaldb_release(tmp_path / "other", cases=6, seconds=90, seed=1, signals=False)
    result = run("load", DATASET, tmp_path / "other", data=tmp_path / "data")
    assert result.exit_code == 0
    assert "those of the load before were of another release: dropped; load with --signals" in result.stdout
    assert set(ecg(tmp_path / "data")) == {"not checked"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"tables": {', '{"tables": {"signal_case": {}}}'])
def test_a_half_written_report_is_refused_by_readers_and_mended_by_load(release, tmp_path, text):
    home = Home(tmp_path)
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path)
    (home.raw / DATASET / "_load.json").write_text(text)
    with pytest.raises(HomeError, match=rf"_load\.json: found .*\n  next: load {DATASET} again"):
        read_report(home, DATASET)
    result = run("counts", "vitaldb-arrhythmia-abnormal", data=tmp_path)
    assert result.exit_code == 2
    result = run("load", DATASET, release, data=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "the _load.json before cannot be read" in result.stdout
    assert set(ecg(tmp_path)) == {"not checked"}


def test_damaged_signals_are_not_kept(release, tmp_path):
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path)
    path = next((tmp_path / "raw" / DATASET).glob("signal_run/*.parquet"))
    path.write_bytes(path.read_bytes()[:-10])
    result = run("load", DATASET, release, data=tmp_path)
    assert "those of the load before have changed since (signal_run): dropped" in result.stdout
    assert set(ecg(tmp_path)) == {"not checked"}


def test_signals_of_other_cases_are_refused_and_cost_none_of_those_loaded(release, tmp_path):
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path / "data")
    before = ecg(tmp_path / "data")
    (tmp_path / "vital").mkdir()
    for number, path in enumerate(sorted((release / "vital").iterdir())):
        (tmp_path / "vital" / f"{9000 + number}.vital").write_bytes(path.read_bytes())
    result = run("load", DATASET, release, "--signals", tmp_path / "vital", data=tmp_path / "data")
    assert result.exit_code == 1
    assert "found no signal of an annotated case" in result.stderr
    assert "found .vital files of 9000, 9001, 9002, 9003, 9004, …; expected at least one" in result.stderr
    assert ecg(tmp_path / "data") == before


@pytest.fixture
def nobody() -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def test_a_download_from_a_dead_server_ends_soon_and_loads_the_annotations(release, tmp_path, nobody):
    begin = time.monotonic()
    result = run("load", DATASET, release, "--download", "--base-url", nobody, data=tmp_path)
    assert time.monotonic() - begin < 15
    assert result.exit_code == 1
    lines = [line for line in result.stdout.splitlines() if line.startswith("problem: case")]
    assert len(lines) == 6
    assert all(nobody in line and "Connection refused" in line for line in lines)
    assert f"nothing comes from {nobody}: no connection (Connection refused)" in result.stdout
    assert f"next: check the address {nobody} (--base-url) and the line" in result.stderr
    assert set(ecg(tmp_path)) == {"not checked"}


def test_a_dead_server_costs_no_signals_that_were_loaded(release, tmp_path, nobody):
    run("load", DATASET, release, "--signals", release / "vital", data=tmp_path)
    before = ecg(tmp_path)
    assert run("load", DATASET, release, "--download", "--base-url", nobody, data=tmp_path).exit_code == 1
    assert ecg(tmp_path) == before


def test_a_base_url_without_a_download_is_wrong_usage(release, tmp_path):
    result = run("load", DATASET, release, "--base-url", "http://127.0.0.1", data=tmp_path)
    assert result.exit_code == 2
    assert "--base-url http://127.0.0.1 without --download" in result.stderr
    assert not (tmp_path / "raw").exists()


def test_links_are_followed_and_a_circle_ends(release, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "annotations").symlink_to(release / "annotations")
    (source / "again").symlink_to(release / "annotations")
    (source / "circle").symlink_to(source)
    for path in release.glob("*.csv"):
        (source / path.name).symlink_to(path)
    (tmp_path / "vital" / "deep").mkdir(parents=True)
    (tmp_path / "vital" / "deep" / "here").symlink_to(release / "vital")
    result = run("load", DATASET, source, "--signals", tmp_path / "vital", data=tmp_path / "data")
    assert result.exit_code == 0, result.stderr
    assert "subjects: clinical_data.csv" in result.stdout
    assert "not checked" not in ecg(tmp_path / "data")


def test_paths_that_are_not_utf_8(release, tmp_path):
    source = tmp_path / os.fsdecode(b"ca\xe9")
    shutil.copytree(release, source)
    subjects = (source / "clinical_data.csv").rename(source / os.fsdecode(b"sujets-\xe9.csv"))
    options = ("--subjects", subjects, "--signals", source / "vital")
    result = run("load", DATASET, source, *options, data=tmp_path / "data")
    assert result.exit_code == 0, result.stderr
    assert any(
        "sujets-\\udce9.csv" in note for note in read_report(Home(tmp_path / "data"), DATASET)["notes"]
    )
    assert "not checked" not in ecg(tmp_path / "data")
    query = "SELECT DISTINCT source_file FROM raw_vitaldb.clinical"
    assert select(Home(tmp_path / "data"), query).fetchall() == [("sujets-\\udce9.csv",)]
    result = run("load", DATASET, source, data=tmp_path / os.fsdecode(b"donn\xe9es"))
    assert result.exit_code == 2
    assert "the path of the data home" in result.stderr


def test_a_late_waveform_is_listed_and_marked(tmp_path):
    write_vitaldb_release(tmp_path / "release", cases=6, seconds=90, late_s=1.2)
    data = tmp_path / "data"
    run("load", DATASET, tmp_path / "release", "--signals", tmp_path / "release" / "vital", data=data)
    run("materialize", data=data)
    result = run("audit", "vitaldb-arrhythmia-abnormal", data=data)
    assert result.exit_code == 1
    assert "clock_beyond_tolerance_v0" in result.stderr
    query = "SELECT clock, count(DISTINCT record_id) FROM task.vitaldb_arrhythmia_abnormal GROUP BY clock"
    assert dict(select(Home(data), query).fetchall()) == {"within": 5, "beyond": 1}
