"""The page: its numbers are those of the commands, it stands alone, and it can be read by everybody."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from html_page import Page, table_of

from pipelines.charts import intervals, place, stacked
from pipelines.pages import TEMPLATES
from pipelines.paper import HEAD, LEAD_IN, STEP, draw_paper
from pipelines.report import write_report
from warehouse.counts import count
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.query import connect, select

TASK = "vitaldb-arrhythmia-abnormal@0"


@pytest.fixture(scope="session")
def synthetic_home(tmp_path_factory) -> Home:
    """A built home with signals and two scored baselines."""
    from pipelines.baseline import write_baseline
    from pipelines.score import score_submission

    home = _loaded(tmp_path_factory.mktemp("report"), signals=True, cases=24)
    for name in ("prior", "rr-detected"):
        score_submission(home, TASK, write_baseline(home, TASK, name), n_bootstrap=50)
    return home


@pytest.fixture(scope="session")
def page(synthetic_home: Home, tmp_path_factory) -> str:
    return write_report(synthetic_home, TASK, tmp_path_factory.mktemp("page") / "report.html").read_text()


def _loaded(folder: Path, *, signals: bool, cases: int) -> Home:
    from warehouse.load.vitaldb_arrhythmia import load
    from warehouse.materialize import materialize
    from warehouse.synthetic import write_vitaldb_release

    home, release = Home(folder / "home"), folder / "release"
    write_vitaldb_release(release, cases=cases, seconds=120, signals=signals)
    load(home, release, signals=release / "vital" if signals else None)
    materialize(home)
    return home


def test_counts_are_those_of_the_command(synthetic_home: Home, page: str) -> None:
    shown = table_of(Page(page), "Segments in each part")
    for part, counts in count(synthetic_home, TASK).as_json()["parts"].items():
        numbers = {name: int(text.replace(",", "")) for name, text in shown[part].items() if text != part}
        assert numbers["abnormal"] == counts["classes"]["abnormal"]
        assert numbers["abnormal"] + numbers["not"] == counts["scored"]
        assert numbers["abnormal"] + numbers["not"] + numbers["no label"] == counts["records"]
        assert numbers["left out"] == counts["left_out"]


def test_attrition_and_rhythms_are_those_of_the_views(synthetic_home: Home, page: str) -> None:
    parsed = Page(page)
    attrition = select(synthetic_home, "SELECT * FROM vitaldb.attrition_v0").fetchall()
    shown = table_of(parsed, "Segments without label by reason")
    assert {key.split()[0]: (row["first"], row["any"]) for key, row in shown.items()} == {
        reason: (f"{first:,}", f"{every:,}") for reason, first, every in attrition
    }
    rhythms = select(synthetic_home, "SELECT rhythm, segments FROM vitaldb.rhythm_count_v0").fetchall()
    shown = table_of(parsed, "Scored segments per rhythm")
    assert len(shown) == len(rhythms)
    for rhythm, segments in rhythms:
        assert any(
            key.startswith(f"{rhythm} ") and row["segments"] == f"{segments:,}" for key, row in shown.items()
        )


def test_a_strip_for_each_reason_and_several_rhythms(synthetic_home: Home, page: str) -> None:
    from pipelines.strips import STRIPS, choose

    con = connect(synthetic_home)
    _, rows = choose(con, "task.vitaldb_arrhythmia_abnormal_v0")
    reasons = con.execute("SELECT DISTINCT label, reason FROM vitaldb.segment_label_v0").fetchall()
    assert {(row["label"], row["reason"]) for row in rows} == set(reasons)
    assert len({row["rhythms"] for row in rows if row["label"] == "abnormal"}) >= 3
    assert 8 <= len(rows) <= STRIPS
    articles = Page(page).all("article")
    assert len(articles) == len(rows)
    for article, row in zip(articles, rows, strict=True):
        assert row["instance_id"] in article["text"]
        assert row["label"] is not None or row["meaning"] in article["text"]


def test_a_strip_marks_every_annotated_beat(synthetic_home: Home, page: str) -> None:
    con = connect(synthetic_home)
    for article in Page(page).all("article"):
        case_id, start_s = re.search(r"(\d+)_(\d+)", article["text"]).groups()
        beats = con.execute(
            f"SELECT beat_type FROM vitaldb.annotation_v0 WHERE case_id = {case_id} AND start_s = {start_s} "
            "AND is_beat ORDER BY row_no",
        ).fetchall()
        letters = re.findall(r'class="letter[^>]*>([A-Z])<', page[page.index(f'id="{article["id"]}"') :])
        assert letters[: len(beats)] == [beat for (beat,) in beats]


def test_every_query_on_the_page_runs(synthetic_home: Home, page: str) -> None:
    queries = [
        query
        for block in Page(page).all("code")
        for query in re.split(r";\s*|\n\n(?=--)", block["text"])
        if re.match(r"\s*(--[^\n]*\n\s*)?(SELECT|WITH)\b", query)
    ]
    assert len(queries) > 30
    con = connect(synthetic_home)
    for query in queries:
        con.execute(query).fetchall()
    select(synthetic_home, queries[-1]).fetchall()


def test_score_and_leaderboard_are_those_of_the_runs(synthetic_home: Home, page: str) -> None:
    from pipelines.leaderboard import leaderboard

    best, second = leaderboard(synthetic_home, TASK)
    shown = table_of(Page(page), "Metrics with intervals")
    row = next(row for key, row in shown.items() if key.startswith("auroc"))
    assert row[best["made_by"]["baseline"]] == f"{best['value']:.3f} {best['lo']:.3f} – {best['hi']:.3f}"
    assert row[second["made_by"]["baseline"]].startswith(f"{second['value']:.3f}")
    assert [each["run"] in page for each in (best, second)] == [True, True]


def test_the_page_says_what_it_rests_on(synthetic_home: Home, page: str) -> None:
    from warehouse.cite import cite

    citation = cite(synthetic_home, TASK)
    for digest in [*citation["rules"]["views"].values(), *citation["rules"]["maps"].values()]:
        assert digest[:12] in page
    assert citation["spec"]["digest"] in page
    assert citation["spec"]["follows"] in page
    text = Page(page).all("body")[0]["text"]
    for sentence in (
        citation["split"]["origin"],
        citation["dataset"]["citation"],
        citation["dataset"]["licence"],
    ):
        assert sentence in text
    assert "Synthetic data" not in text, "only the demo's own release is known to be made up"


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    parsed = Page(page)
    assert not parsed.all("script")
    for element in parsed.elements:
        assert not {
            name for name in element if name in ("src", "srcset", "xlink:href", "action") or name[:2] == "on"
        }
        if element["tag"] == "link":
            assert element["href"].startswith("data:")
    assert not re.search(r"@import|url\((?!#)", page)


def test_well_formed_with_names_for_pictures(page: str) -> None:
    parsed = Page(page)
    assert parsed.faults == []
    ids = [each["id"] for each in parsed.elements if "id" in each]
    assert [name for name, n in Counter(ids).items() if n > 1] == []
    targets = [each["href"][1:] for each in parsed.all("a") if each["href"].startswith("#")]
    targets += [name for each in parsed.elements for name in (each.get("aria-labelledby") or "").split()]
    targets += re.findall(r"url\(#([^)]*)\)", page)
    assert set(targets) <= set(ids)
    for svg in parsed.all("svg"):
        assert svg["children"][0]["tag"] == "title"
        assert svg["children"][0]["text"].strip()
    for cell in parsed.all("th"):
        assert cell["scope"] in ("row", "col")
    levels = [int(each["tag"][1]) for each in parsed.elements if re.fullmatch("h[1-6]", each["tag"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_hostile_text_is_shown_and_not_obeyed(synthetic_home: Home, tmp_path: Path, monkeypatch) -> None:
    import shutil

    from pipelines.baseline import write_baseline
    from pipelines.score import score_submission
    from warehouse.project import project_root

    evil = "<script>alert(1)</script>"
    shutil.copytree(synthetic_home.path, tmp_path / "home", symlinks=True)
    home = Home(tmp_path / "home")
    file = write_baseline(home, TASK, "rr-annotated", out=tmp_path / "<img src=x onerror=alert(1)>.parquet")
    pl.read_parquet(file).write_csv(tmp_path / "<img src=x onerror=alert(1)>.csv")
    score_submission(home, TASK, tmp_path / "<img src=x onerror=alert(1)>.csv", n_bootstrap=10)
    for name in ("sql", "registry"):
        shutil.copytree(project_root() / name, tmp_path / "project" / name)
    for name in ("vitaldb_rhythm", "vitaldb_reason"):
        path = tmp_path / "project" / "registry" / "maps" / f"{name}.csv"
        head, *rows = path.read_text().splitlines()
        path.write_text("\n".join([head, *(re.sub("[^,]*$", f'"{evil}"', row) for row in rows)]) + "\n")
    monkeypatch.setattr("warehouse.project.project_root", lambda: tmp_path / "project")
    text = write_report(home, TASK, tmp_path / "report.html").read_text()
    parsed = Page(text)
    assert parsed.faults == []
    assert not parsed.all("script")
    assert not parsed.all("img")
    assert evil in parsed.all("body")[0]["text"]
    assert "onerror=alert(1)>.csv" in parsed.all("body")[0]["text"]


def test_without_signals_beats_stand_on_empty_paper(tmp_path: Path) -> None:
    home = _loaded(tmp_path, signals=False, cases=6)
    text = write_report(home, TASK, tmp_path / "report.html").read_text()
    parsed = Page(text)
    assert parsed.faults == []
    assert "No signal is loaded" in parsed.all("main")[0]["text"]
    assert "Nothing is scored on test yet" in parsed.all("main")[0]["text"]
    assert parsed.all("path", **{"class": "trace"}) == []
    assert parsed.all("path", **{"class": "beat"})


def test_old_labels_and_missing_intervals_are_said(synthetic_home: Home, tmp_path: Path, monkeypatch) -> None:
    from pipelines.report import gather, render

    found = gather(synthetic_home, TASK, "test")
    found["stale"] = ["map.made_up"]
    for run in found["results"].top:
        run.score["metrics"]["auroc"] |= {"lo": None, "hi": None}
        run.score["metrics"]["auprc"] |= {"value": None, "lo": None, "hi": None, "reason": "for a reason"}
    parsed = Page(render(found))
    shown = table_of(parsed, "Metrics with intervals")
    assert parsed.faults == []
    assert next(row for key, row in shown.items() if key.startswith("auroc"))["prior"] == "0.500 no interval"
    assert shown["auprc"]["prior"] == "undefined: for a reason"
    assert "older than map.made_up" in parsed.all("header")[0]["text"]


def test_only_the_release_that_was_made_up_is_called_synthetic(tmp_path: Path) -> None:
    from pipelines.made_up import made_up, note

    home = Home(tmp_path)
    loaded = {"dataset": "a", "tables": {"t": {"sha256": "ab"}}}
    (tmp_path / "demo").mkdir()
    assert made_up(home, loaded) is None
    note(home, loaded, {"cases": 6})
    assert made_up(home, loaded)["cases"] == 6
    assert made_up(home, {"dataset": "a", "tables": {"t": {"sha256": "cd"}}}) is None
    assert made_up(home, {"dataset": "b", "tables": {"t": {"sha256": "ab"}}}) is None
    assert made_up(home, None) is None


def test_an_unbuilt_home_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="no build"):
        write_report(Home(tmp_path), TASK, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_second_is_25_mm_and_a_millivolt_10() -> None:
    samples = np.zeros(2500)
    samples[500:1000] = 1.0
    samples[1500:2000] = np.nan
    paper = draw_paper(samples, 500, 5)
    assert (paper.width, paper.height) == (10 + 125 + 5, 10 + 30 + 10)
    first, second = re.findall(r"M(\d+) (\d+)", paper.trace)
    assert float(first[0]) * STEP == LEAD_IN
    assert float(second[0]) * STEP == LEAD_IN + 2000 / 500 * 25
    steps = [
        (int(x), int(y)) for x, y in re.findall(r"(-?\d+) ?(-?\d+)", paper.trace.split("l")[1].split("M")[0])
    ]
    assert {x for x, _ in steps} == {1}
    assert [y * STEP for _, y in steps if y] == [-10.0, 10.0]
    assert paper.holes == ((LEAD_IN + 75.0, LEAD_IN + 100.0),)
    assert paper.x(2) == LEAD_IN + 50
    assert "v-10h5v10" in paper.calibration


@pytest.mark.parametrize("samples", [np.empty(0), np.full(2500, np.nan)])
def test_paper_without_a_sample_is_empty(samples: np.ndarray) -> None:
    paper = draw_paper(samples, 500 if len(samples) else None, 5)
    assert paper.trace == ""
    assert paper.height == 10 + 30 + 10


def test_a_wild_trace_is_cut_and_said_to_be() -> None:
    samples = np.sin(np.arange(2500)) * 40
    paper = draw_paper(samples, 500, 5)
    assert paper.cut
    assert paper.field == 60
    assert paper.height == HEAD + 60 + 10


def test_bars_share_one_scale_and_marks_stay_inside() -> None:
    long, short, none = stacked([("a", {"x": 30, "y": 10}), ("b", {"x": 0, "y": 20}), ("c", {"x": 0})])
    assert sum(piece.width for piece in long.pieces) == pytest.approx(100)
    assert [(piece.kind, piece.x, piece.width) for piece in short.pieces] == [("y", 0, 50)]
    assert none.pieces == ()
    assert stacked([]) == []
    (line,) = intervals([("m", "", [("a", {"value": 1.0, "lo": 0.5, "hi": 1.0}), ("b", {"value": None})])])
    (mark,) = line.marks
    assert mark.hi == mark.x == place(1.0) < 100
    assert place(0.0) > 0


CSS = (TEMPLATES / "style.css").read_text(encoding="utf-8")
ROOTS = re.findall(r":root \{(.*?)\n *\}", CSS, re.S)[:2]
LIGHT, DARK = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in ROOTS)
TEXT = [
    *((ink, ground) for ink in ("ink", "quiet", "link", "early", "negative") for ground in ("page", "card")),
    *((ink, "code") for ink in ("ink", "quiet")),
    *((f"on-{kind}", kind) for kind in ("positive", "negative", "unlabelled", "left-out", "banner")),
    *((ink, "sheet") for ink in ("trace", "early", "bounds")),
]
GRAPHICS = [(kind, "page") for kind in ("positive", "negative", "unlabelled")]


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    dark, light = sorted([_luminance(one), _luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_is_aa(palette: dict[str, str]) -> None:
    assert set(LIGHT) == set(DARK)
    wanted = [(pair, 4.5) for pair in TEXT] + [(pair, 3.0) for pair in GRAPHICS]
    found = {pair: round(_contrast(palette[pair[0]], palette[pair[1]]), 2) for pair, _ in wanted}
    assert {pair: found[pair] for pair, least in wanted if found[pair] < least} == {}
