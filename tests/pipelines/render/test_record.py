"""`render-record`: one WFDB record as the generator draws it, from the command line."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import cv2
import lydus_files
import numpy as np
import pytest
from click.testing import CliRunner
from golden_records import NAMES
from rendering import EIGHT

import cli
from pipelines.render.draws import seed_of
from pipelines.render.wfdb_leads import read_record
from warehouse.leads import LEADS


def run(*args: object):
    return CliRunner().invoke(cli.main, ["render-record", *map(str, args)])


@pytest.mark.parametrize("name", NAMES)
def test_golden_pages_and_images(shared, tmp_path, name):
    golden = shared / "golden" / "render"
    seed = json.loads((golden / "draws.json").read_text())[name]["seed"]
    record = golden / "records" / name
    assert run(record, tmp_path / "page.png", "--plain", "--seed", seed).exit_code == 0
    theirs = cv2.imread(str(golden / "plain" / f"{name}-0.png"))
    assert (cv2.imread(str(tmp_path / "page.png")) == theirs).all()
    assert run(f"{record}.hea", tmp_path / "image.jpg").exit_code == 0
    expected = json.loads((golden / "augmented_jpeg_sha256.json").read_text())[name]["jpeg_sha256"]
    assert hashlib.sha256((tmp_path / "image.jpg").read_bytes()).hexdigest() == expected


def record_of(
    folder: Path, seconds: float, *, hz: int = 500, leads=LEADS, name: str = "made", **options
) -> Path:
    rng = np.random.default_rng(0)
    samples = np.cumsum(rng.integers(-9, 10, (len(leads), int(seconds * hz))), axis=1).astype(np.int16)
    return lydus_files.write_wfdb(folder, name, samples, leads, hz=hz, **options)


def test_a_longer_record_gives_a_page_per_ten_seconds(tmp_path):
    header = record_of(tmp_path, 25.5)
    result = run(header, tmp_path / "out" / "page.jpg", "--json", "--geometry")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [Path(each["file"]).name for each in told] == ["page-1.jpg", "page-2.jpg"]
    assert [each["begin_s"] for each in told] == [0, 10]
    assert [each["seed"] for each in told] == [seed_of("made"), seed_of("made-2")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "page-1.jpg", "page-1.json", "page-2.jpg", "page-2.json",
    ]  # fmt: skip
    first = json.loads((tmp_path / "out" / "page-1.json").read_text())
    assert {"px_per_s", "px_per_mv", "plain_to_image", "leads"} <= set(first)
    assert len(first["leads"]) == 13


@pytest.mark.parametrize(
    ("seconds", "hz", "leads", "said"),
    [
        (9.99, 500, LEADS, "found 9.99 s; expected at least 10 s"),
        (10, 500, EIGHT[:7], "without V6"),
        (10, 10, LEADS, "found 10.0 Hz; expected 20 to 20,000 Hz"),
    ],
)
def test_what_gives_no_page_says_why(tmp_path, seconds, hz, leads, said):
    result = run(record_of(tmp_path, seconds, hz=hz, leads=leads), tmp_path / "page.png")
    assert result.exit_code == 1
    assert said in result.stderr
    assert not (tmp_path / "page.png").exists()


def test_eight_leads_any_rate_and_order_and_lower_case_names(tmp_path):
    straight = record_of(tmp_path, 10, hz=250, leads=EIGHT)
    samples = np.fromfile(straight.with_suffix(".dat"), "<i2").reshape(-1, 8).T
    names = [lead.lower() for lead in reversed(EIGHT)]
    turned = lydus_files.write_wfdb(tmp_path, "turned", samples[::-1], names, hz=250)
    for header in (straight, turned):
        assert run(header, header.with_suffix(".png"), "--plain", "--seed", 1).exit_code == 0
    assert straight.with_suffix(".png").read_bytes() == turned.with_suffix(".png").read_bytes()


def test_gains_baselines_units_and_missing_samples_are_read_as_wfdb_says(tmp_path):
    header = record_of(tmp_path, 10)
    lines = header.read_text().splitlines()
    lines[1] = lines[1].replace("1000.0(0)/mV", "500.0(-8)/mV")
    lines[2] = lines[2].replace("1000.0(0)/mV", "2.0(0)/uV")
    lines[4] = re.sub(r"\d+ 0 aVR", "0 0 aVR", lines[4])  # no checksum: a sample changes below
    header.write_text("\n".join(lines) + "\n")
    data = np.fromfile(header.with_suffix(".dat"), "<i2").reshape(-1, 12)
    data[7, 3] = -32768
    data.tofile(header.with_suffix(".dat"))
    leads, hz = read_record(header)
    assert hz == 500
    np.testing.assert_allclose(leads["I"], (data[:, 0] + 8.0) / 500)
    np.testing.assert_allclose(leads["II"], data[:, 1] / 2000)
    assert np.isnan(leads["aVR"][7])
    assert not np.isnan(np.delete(leads["aVR"], 7)).any()


def test_bad_input(tmp_path):
    header = record_of(tmp_path, 10)
    for args, code, said in (
        ((header, tmp_path / "page.bmp"), 2, "found suffix .bmp; expected one of .jpg, .jpeg, .png"),
        ((tmp_path / "nobody", tmp_path / "page.png"), 1, "nobody.hea: found no file"),
        ((header, tmp_path / "page.png", "--dpi", 7), 2, "page setting dpi"),
        ((header, tmp_path / "page.png", "--rhythm", "II,X"), 2, "page setting rhythm"),
        ((header, header / "page.png"), 2, "a file is in the way"),
    ):
        result = run(*args)
        assert (result.exit_code, said in result.stderr) == (code, True), result.stderr
    header.with_suffix(".dat").write_bytes(b"\0" * 77)
    result = run(header, tmp_path / "page.png")
    assert result.exit_code == 1
    assert "made.hea: not drawn" in result.stderr
    assert [path.name for path in tmp_path.glob("*.png")] == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            {0: "made 12 -500 5000"},
            "made.hea, row 1: found 'made 12 -500 5000'; expected a WFDB header: name (of A",
        ),
        (
            {0: "made 12 5e2 5000"},
            "made.hea, row 1: found 'made 12 5e2 5000'; expected a WFDB header: name (of A",
        ),
        (
            {0: "gemächt 12 500 5000"},
            "made.hea, row 1: found 'gemächt 12 500 5000'; expected a WFDB header: name (of A",
        ),
        ({0: "made 12 500,0 5000"}, "made.hea, row 1: found 'made 12 500,0 5000'"),
        ({0: "made 15 500 5000"}, "made.hea, row 13: found 12 lines of signals; expected 15, as the first"),
        ({0: "made 10 500 5000"}, "made.hea, row 13: found 12 lines of signals; expected 10, as the first"),
        ({0: "made 12 500 50000"}, "made.dat: found 120,000 bytes; expected 1,200,000"),
        (dict.fromkeys(range(13), ""), "made.hea: found an empty header"),
    ],
)
def test_a_header_that_lies_is_refused_whatever_wfdb_makes_of_it(tmp_path, lines, said):
    header = record_of(tmp_path, 10)
    text = header.read_text().splitlines()
    header.write_text("\n".join(lines.get(row, line) for row, line in enumerate(text)) + "\n")
    result = run(header, tmp_path / "page.png", "--plain")
    assert result.exit_code == 1, result.output
    assert said in result.stderr
    assert "Error" not in result.stderr
    assert [path.name for path in tmp_path.glob("*.png")] == []


@pytest.mark.parametrize("rate", ["500/360", "500/360(0)", "500.0", "500"])
def test_the_forms_of_a_rate_that_the_format_has_are_read(tmp_path, rate):
    header = record_of(tmp_path, 10)
    header.write_text(
        header.read_text().replace("made 12 500 5000", f"made 12 {rate} 5000 9:30:00 01/02/1999")
    )
    assert read_record(header)[1] == 500


def test_samples_that_fail_their_checksum_or_are_not_there_are_no_page(tmp_path):
    header = record_of(tmp_path, 10)
    data = header.with_suffix(".dat")
    damaged = bytearray(data.read_bytes())
    damaged[24 * 700 + 2 * 3] ^= 4  # aVR at 1.4 s
    data.write_bytes(damaged)
    result = run(header, tmp_path / "page.png", "--plain")
    assert result.exit_code == 1
    assert "made.dat: found checksum" in result.stderr
    assert "in lead aVR" in result.stderr
    data.unlink()
    assert "made.dat: found no such file" in run(header, tmp_path / "page.png").stderr
    assert [path.name for path in tmp_path.glob("*.png")] == []


def test_ten_seconds_without_a_value_cost_only_their_own_page(tmp_path):
    header = record_of(tmp_path, 35)
    samples = np.fromfile(header.with_suffix(".dat"), "<i2").reshape(-1, 12).T.copy()
    samples[:, 5000:10_000] = -32768
    header = lydus_files.write_wfdb(tmp_path, "made", samples, LEADS)
    result = run(header, tmp_path / "page.png", "--plain")
    assert result.exit_code == 1
    assert "made.hea: 1 of 3 pages were not drawn; the rest is there" in result.stderr
    assert "made.hea, 10 to 20 s: found no value in any lead" in result.stderr
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["page-1.png", "page-3.png"]


def test_a_record_may_be_named_by_its_samples_and_what_has_no_page_says_which_record(tmp_path):
    header = record_of(tmp_path, 10)
    page = tmp_path / "page.png"
    assert run(header.with_suffix(".dat"), page, "--plain").exit_code == 0
    assert "found a folder; expected the header" in run(tmp_path, page).stderr
    assert "short.hea: found 9 s" in run(record_of(tmp_path, 9, name="short"), page).stderr


def test_what_stands_in_the_way_of_the_page_is_named(tmp_path):
    header = record_of(tmp_path, 10)
    page = tmp_path / "folder.png"
    page.mkdir()
    result = run(header, page, "--plain")
    assert (result.exit_code, f"{page}: found a folder" in result.stderr) == (2, True), result.stderr
    assert list(page.iterdir()) == []
    assert {path.suffix for path in tmp_path.iterdir()} == {".hea", ".dat", ".png"}
    result = run(header, header / "page.png")
    assert "next: pass another OUT" in result.stderr
    assert "--data" not in result.stderr


@pytest.mark.parametrize("options", [("--rotate", 5), ("--wrinkles",)])
def test_a_plain_page_is_not_augmented_behind_ones_back(tmp_path, options):
    result = run(record_of(tmp_path, 10), tmp_path / "page.png", "--plain", *options)
    assert result.exit_code == 2
    assert f"found --plain with {options[0]}" in result.stderr
    assert not (tmp_path / "page.png").exists()


def test_page_settings_reach_the_page(tmp_path):
    header = record_of(tmp_path, 10)
    args = ("--plain", "--dpi", 100, "--layout", "6x2", "--rhythm", "none", "--palette", "bw")
    assert (
        run(header, tmp_path / "page.png", *args, "--paper-speed", 25, "--gain", 5, "--geometry").exit_code
        == 0
    )
    pixels = cv2.imread(str(tmp_path / "page.png"))
    assert pixels.shape == (850, 1100, 3)
    assert (pixels[:, :, 0] == pixels[:, :, 2]).all(), "black and white"
    geometry = json.loads((tmp_path / "page.json").read_text())
    assert [lead["lead"] for lead in geometry["leads"]].count("II") == 1
    assert geometry["px_per_mv"] == pytest.approx(100 / 25.4 * 5)
