"""The names of data sets, the options that belong to each, and the report of a load."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from lydus_files import row, table_of, write_table
from test_ptbxl_load import write_release

import cli
from warehouse.errors import UsageError
from warehouse.home import Home
from warehouse.load import loaders
from warehouse.load.cards import datasets
from warehouse.load.report import LoadReport, write_report


def test_every_card_has_a_loader_and_every_loader_a_card():
    assert set(loaders.LOADERS) <= set(datasets())


def test_unknown_data_set(tmp_path):
    with pytest.raises(UsageError, match="found no data set 'lidus'; expected one of"):
        loaders.load(Home(tmp_path), "lidus", tmp_path)


@pytest.mark.parametrize(
    ("dataset", "option", "owner"),
    [
        ("lydus", "subjects", "vitaldb-arrhythmia"),
        ("ptbxl", "split", "lydus"),
        ("vitaldb-arrhythmia", "hz", "ptbxl"),
    ],
)
def test_an_option_of_another_data_set(tmp_path, dataset, option, owner):
    with pytest.raises(UsageError, match=f"found --{option}, which is an option of {owner}"):
        loaders.load(Home(tmp_path), dataset, tmp_path, **{option: "x"})


def test_the_command_loads_lydus(tmp_path):
    source = write_table(tmp_path / "source", [row("a"), row("b")])
    result = CliRunner().invoke(
        cli.main, ["load", "lydus", str(source), "--data", str(tmp_path / "data"), "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["tables"]["dx_line"]["rows"] == 6
    assert len(table_of(Home(tmp_path / "data"), "record")) == 2


def test_the_command_rejects_with_exit_1(tmp_path):
    source = write_table(tmp_path / "source", [row("a"), row("a")])
    result = CliRunner().invoke(cli.main, ["load", "lydus", str(source), "--data", str(tmp_path / "data")])
    assert result.exit_code == 1
    assert "E02 ecg.csv, row 3" in result.stderr


def test_the_command_loads_what_is_sound_of_ptbxl_and_exits_1(tmp_path):
    source = write_release(tmp_path / "ptbxl", [{"at": "2", "strat_fold": "0"}])
    result = CliRunner().invoke(
        cli.main, ["load", "ptbxl", str(source), "--data", str(tmp_path / "data"), "--json"]
    )
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["problems"]) == 1
    assert len(table_of(Home(tmp_path / "data"), "record", "ptbxl")) == 2


def test_a_report_reads_back_and_has_a_line_a_source(tmp_path):
    report = LoadReport("some", "some", release={"name": None, "note": "é\n"}, notes=["one", 'a "note"'])
    report.sources = [{"file": f"{number}.csv", "bytes": number} for number in range(3)]
    report.odd("marker", 2, [1, 2], "kept")
    write_report(tmp_path, report)
    text = (tmp_path / "_load.json").read_text()
    assert json.loads(text) == report.as_json()
    lines = text.splitlines()
    assert [line.strip().rstrip(",") for line in lines if '"file"' in line] == [
        json.dumps(source) for source in report.sources
    ]
    assert lines[-1] == "}"
