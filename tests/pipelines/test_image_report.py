"""The page of an image task: its counts, the contact sheet, the score; and what it says where nothing is rendered."""

import base64
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from html_page import Page, table_of

from pipelines.baseline import write_baseline
from pipelines.render.stage import render_task
from pipelines.report import write_report
from pipelines.score import score_submission
from warehouse.counts import count
from warehouse.errors import HomeError
from warehouse.home import Home
from warehouse.images import read_images
from warehouse.load.lydus import load
from warehouse.materialize import materialize
from warehouse.synthetic import write_lydus_release

TASK = "lydus-ecg-image@0"
SHOWN = 3


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    """120 made-up records, three images of the test part, one scored baseline."""
    place = tmp_path_factory.mktemp("images")
    write_lydus_release(place / "release", records=120)
    home = Home(place / "home")
    load(home, place / "release")
    materialize(home, ["task.lydus_ecg_image_v0"])
    render_task(home, TASK, part="test", limit=SHOWN, workers=1)
    score_submission(home, TASK, write_baseline(home, TASK, "prior"), n_bootstrap=50)
    return home


@pytest.fixture(scope="module")
def text(home: Home, tmp_path_factory) -> str:
    return write_report(home, TASK, tmp_path_factory.mktemp("page") / "page.html").read_text()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_it_is_well_formed_and_stands_alone(text: str, page: Page) -> None:
    assert page.faults == []
    assert page.all("script") == []
    fetched = [element.get("src") or "" for element in page.all("img")]
    assert fetched
    assert all(address.startswith("data:image/jpeg;base64,") for address in fetched)
    assert all(image.get("alt") and image.get("width") and image.get("height") for image in page.all("img"))
    assert len({element["id"] for element in page.elements if "id" in element}) == len(
        [element for element in page.elements if "id" in element]
    )
    links = {
        element["href"].removeprefix("#") for element in page.all("a") if element["href"].startswith("#")
    }
    assert links <= {element.get("id") for element in page.elements}


def test_counts_are_those_of_the_command(home: Home, page: Page) -> None:
    shown = table_of(page, "Records with each class by part")
    for part, counted in count(home, TASK).as_json()["parts"].items():
        for name, records in counted["classes"].items():
            assert int(shown.get(name, {part: "0"})[part].replace(",", "")) == records
        assert int(shown["records"][part].replace(",", "")) == counted["records"]
        assert int(shown["scored"][part].replace(",", "")) == counted["scored"]


def test_the_contact_sheet_shows_the_first_images_small_and_a_piece_in_full_size(
    home: Home, page: Page
) -> None:
    images = read_images(home, TASK)
    small, detail = page.all("img")[:SHOWN], page.all("img")[SHOWN]
    rows = list(images.table.iter_rows(named=True))
    whole = [cv2.imread(str(images.path(row["file"]))) for row in rows]
    shrunk = [cv2.resize(each, (550, 425), interpolation=cv2.INTER_AREA).astype(int) for each in whole]
    for place, (element, row) in enumerate(zip(small, rows, strict=True)):
        pixels = decoded(element["src"])
        assert pixels.shape == (int(element["height"]), int(element["width"]), 3) == (425, 550, 3)
        off = [np.abs(pixels - theirs).mean() for theirs in shrunk]
        assert off[place] == min(off) < 10
        assert row["instance_id"] in element["alt"]
    assert decoded(detail["src"]).shape == (360, 620, 3)
    assert "12-lead ECG" in small[0]["alt"]


def decoded(address: str) -> np.ndarray:
    data = base64.b64decode(address.removeprefix("data:image/jpeg;base64,"))
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def test_labels_stand_beside_the_images_and_no_record_does(home: Home, text: str, page: Page) -> None:
    from warehouse.task import read_task

    built = read_task(home, TASK)
    names = {
        instance: {name for name, value in zip(built.classes, row, strict=True) if value == 1}
        for instance, row in zip(built.instances["instance_id"], built.targets, strict=True)
    }
    cards = [
        element for element in page.all("li") if any(each["tag"] == "img" for each in element["children"])
    ]
    assert len(cards) == SHOWN
    for card in cards:
        (instance,) = (each for each in names if each in card["text"])
        badges = {each["text"] for each in page.all("span") if each["text"] in card["text"]} & set(
            built.classes
        )
        assert names[instance] <= badges
    assert not any(record in text for record in built.instances["record_id"])


def test_the_score_is_the_runs(home: Home, page: Page) -> None:
    (run,) = home.runs.iterdir()
    score = json.loads((run / "score.json").read_text())
    shown = table_of(page, "Metrics with intervals")
    (maker,) = (name for name in next(iter(shown.values())) if name != "metric")
    assert shown["macro_f_measure primary"][maker].startswith(
        f"{score['metrics']['macro_f_measure']['value']:.3f}"
    )
    by_class = table_of(page, "F-measure per class")
    for each in score["by_class"]:
        if each["f_measure"] is not None:
            assert by_class[each["name"]]["F"].startswith(f"{each['f_measure']:.3f}")
    (chart,) = (each for each in page.all("svg") if "Metrics with 95" in each["text"])
    assert "mean_labels_predicted" not in chart["text"], "a value of 11 is on no scale from 0 to 1"


def test_nothing_rendered_and_nothing_scored_is_said(home: Home, tmp_path: Path) -> None:
    import shutil

    bare = Home(tmp_path / "home")
    for name in ("raw", "built"):
        shutil.copytree(home.path / name, bare.path / name, symlinks=True)
    page = Page(write_report(bare, TASK, tmp_path / "page.html").read_text())
    said = " ".join(each["text"] for each in page.all("p", **{"class": "notice"}))
    assert "No image of test is rendered" in said
    assert "Nothing is scored on test yet" in said
    assert page.all("img") == []
    assert page.faults == []


def test_an_image_that_is_gone_is_said(home: Home, tmp_path: Path) -> None:
    images = read_images(home, TASK)
    path = images.path(images.table["file"][0])
    data = path.read_bytes()
    try:
        path.write_bytes(b"no image")
        with pytest.raises(HomeError, match="found no image; expected one"):
            write_report(home, TASK, tmp_path / "page.html")
    finally:
        path.write_bytes(data)
