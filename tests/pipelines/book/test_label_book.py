"""The book: every number is what its SQL gives, every link leads somewhere, and everybody can read it."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from book_page import BookPage
from click.testing import CliRunner

import cli
from pipelines.book.prose import read_prose
from pipelines.book.site import Site
from pipelines.book.style import style_sheet
from pipelines.book.write import MARK, pages_of, write_book
from warehouse.counts import count
from warehouse.errors import HomeError, RegistryError, UsageError
from warehouse.home import Home
from warehouse.maps import map_files
from warehouse.spec import specs
from warehouse.views import Catalog

VITALDB = "tasks/vitaldb-arrhythmia-abnormal_v0.html"


def as_shown(value: object, digits: int | None = None) -> str:
    """A value as a page has it, written without the page's own code."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.{digits}f}" if digits else f"{value:,g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return str(value)


def test_every_number_is_the_answer_of_its_sql(book) -> None:
    answers: dict[str, tuple[list[str], list[tuple]]] = {}
    seen = 0
    for name, page in book.pages.items():
        queries = page.queries
        for element in [*page.numbers, *page.tables]:
            sql = queries[element.get("data-sql")]
            if sql not in answers:
                found = book.con.execute(sql)
                answers[sql] = ([column[0] for column in found.description], found.fetchall())
            columns, rows = answers[sql]
            if element.tag == "table":
                chosen = [columns.index(column) for column in element.get("data-columns").split(",")]
                cells = [[cell.text for cell in row.children] for row in element.children[1].children]
                assert cells == [[as_shown(row[n]) for n in chosen] for row in rows], name
                seen += len(cells) * len(chosen)
                continue
            value = rows[int(element.get("data-row"))][columns.index(element.get("data-column"))]
            assert element.get("data-value") == ("" if value is None else str(value)), (name, sql)
            text = element.text.replace("−", "-").removeprefix("+")
            assert text in (as_shown(value), as_shown(value, 3)), (name, sql)
            seen += 1
    assert seen > 1000


def test_no_number_stands_without_sql(book) -> None:
    assert {name: page.bare for name, page in book.pages.items() if page.bare} == {}


def test_a_number_without_sql_is_found() -> None:
    assert BookPage("<main><p>of 12 cases</p></main>").bare == ["of 12 cases"]
    assert BookPage('<main><p>of <b data-sql="q">12</b> cases, view_12, task@0</p></main>').bare == []


def test_a_page_for_every_task_view_and_map(book) -> None:
    wanted = {f"tasks/{spec.name.replace('@', '_v')}.html" for spec in specs()}
    wanted |= {f"views/{name}.html" for name in Catalog.read()} | {
        f"maps/{name}.html" for name in map_files()
    }
    assert set(book.pages) == wanted | {"index.html", "views.html", "maps.html"}


def test_links_lead_somewhere(book) -> None:
    ids = {
        name: {each.get("id") for each in page.elements if each.get("id")}
        for name, page in book.pages.items()
    }
    astray = []
    for name, page in book.pages.items():
        for element in page.elements:
            for key in ("href", "src"):
                address = element.attributes.get(key)
                if address is None or address.startswith(("https://", "http://", "data:")):
                    continue
                file, _, part = address.partition("#")
                target = (book.folder / name).parent / file if file else book.folder / name
                there = str(target.resolve().relative_to(book.folder.resolve())) if target.exists() else None
                if there is None or (part and part not in ids[there]):
                    astray.append((name, address))
    assert astray == []


def test_nothing_is_fetched(book) -> None:
    for name, page in book.pages.items():
        for element in page.elements:
            if element.tag in ("script", "link", "img", "iframe", "use", "image"):
                for key in ("src", "href", "srcset"):
                    assert not re.match(r"(https?:)?//", element.get(key)), (name, element)
            assert not [key for key in element.attributes if key.startswith("on")], (name, element)
    assert not re.search(r"@import|url\((?!#)", (book.folder / "book.css").read_text())
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|https?:", (book.folder / "book.js").read_text())


def test_pages_are_well_formed_and_named(book) -> None:
    for name, page in book.pages.items():
        assert page.faults == [], name
        (root,) = page.all("html")
        assert root.get("lang") == "en", name
        assert len(page.all("title")[0].text.split("–")[0].strip()) > 2, name
        ids = [each.get("id") for each in page.elements if each.get("id")]
        assert [each for each, n in Counter(ids).items() if n > 1] == [], name
        assert len(page.all("main")) == 1, name
        levels = [int(each.tag[1]) for each in page.elements if re.fullmatch("h[1-6]", each.tag)]
        assert levels.count(1) == 1, name
        assert levels[0] == 1, name
        assert all(after - before <= 1 for before, after in pairwise(levels)), name
        labelled = {each.get("for") for each in page.all("label")}
        known = set(ids)
        for element in page.elements:
            for key in ("aria-labelledby", "aria-describedby"):
                assert set(element.get(key).split()) <= known, (name, element.get(key))
            if element.tag == "input":
                assert element.get("id") in labelled, name
            if element.tag == "img":
                assert element.get("alt"), name
            if element.tag == "th":
                assert element.get("scope") in ("row", "col"), name
            if element.tag in ("a", "button", "summary"):
                assert element.text.strip() or element.get("aria-label"), (name, element)
            if "scroll" in element.classes:
                assert (element.get("role"), element.get("tabindex")) == ("region", "0"), name
                assert element.get("aria-label"), name
            if element.tag == "pre":
                assert element.get("tabindex") == "0", name
            if element.tag == "svg":
                hidden = element.get("aria-hidden") == "true"
                named = element.get("role") in ("img", "group") and (
                    element.get("aria-label") or element.get("aria-labelledby")
                )
                assert hidden or named, (name, element.attributes)


def test_regions_of_a_page_have_names_of_their_own(book) -> None:
    for name, page in book.pages.items():
        names = [each.get("aria-label") for each in page.elements if each.get("role") == "region"]
        heads = {each.get("id"): " ".join(each.text.split()) for each in page.elements if each.get("id")}
        names += [heads[each.get("aria-labelledby")] for each in page.all("section")]
        assert [each for each, n in Counter(names).items() if n > 1] == [], name


def test_counts_are_those_of_the_command(book_of) -> None:
    book = book_of("scored_home")
    page = book.pages[VITALDB]
    shown = {
        (each.get("data-column"), each.get("data-row")): each.text
        for each in page.numbers
        if each.tag == "span"
    }
    (region,) = (each for each in page.elements if each.get("aria-label") == "Instances in each part")
    rows = region.children[0].children[1].children
    for row in rows:
        part, scored, unlabelled, left_out, *_ = [cell.text for cell in row.children]
        counts = count(book.home, "vitaldb-arrhythmia-abnormal").as_json()["parts"][part]
        assert [f"{counts['scored']:,}", f"{counts['left_out']:,}"] == [scored, left_out]
        assert f"{counts['records'] - counts['scored']:,}" == unlabelled
    assert shown


def test_scores_are_those_of_the_leaderboard(book_of) -> None:
    from pipelines.leaderboard import leaderboard

    book = book_of("scored_home")
    best, second = leaderboard(book.home, "vitaldb-arrhythmia-abnormal")
    text = " ".join(book.pages[VITALDB].all("main")[0].text.split())
    assert f"{best['made_by']['baseline']}{best['value']:.3f}{best['lo']:.3f} – {best['hi']:.3f}" in text
    assert f"{second['made_by']['baseline']}{second['value']:.3f}" in text


def test_readers_agree_as_the_command_counts_it(book_of) -> None:
    from warehouse.review.agreement import agreement

    book = book_of("scored_home")
    page = book.pages[VITALDB]
    (region,) = (each for each in page.elements if each.get("aria-label") == "Verdicts of each reader")
    shown = [[cell.text for cell in row.children] for row in region.children[0].children[1].children]
    found = agreement(book.home, "vitaldb-arrhythmia-abnormal")
    assert shown == [
        [
            each.klass,
            each.reader,
            *map(str, (each.n, each.both, each.label_only, each.reader_only, each.neither)),
            "–" if each.kappa is None else f"{each.kappa:.3f}",
            *map(str, (each.changed, each.lost)),
        ]
        for each in found
    ]
    assert [each.kappa is None for each in found] == [False, True]


def test_every_task_has_words_and_says_what_surprises(book_of) -> None:
    for spec in specs():
        prose = read_prose(spec)
        assert prose.rule, spec.name
        assert prose.read_first, spec.name
        assert prose.limits, spec.name
        text = " ".join(
            book_of("lydus_home")
            .pages[f"tasks/{spec.name.replace('@', '_v')}.html"]
            .all("main")[0]
            .text.split()
        )
        for title, _ in prose.read_first:
            assert title in text


def test_what_is_not_built_says_so(book_of) -> None:
    pages = book_of("lydus_home").pages
    assert "not built in this home" in pages[VITALDB].all("main")[0].text
    assert "its data is not loaded in this home" in pages["views/vitaldb.segment_v0.html"].all("main")[0].text
    assert "Not loaded in this home" in pages["index.html"].all("main")[0].text


@pytest.mark.parametrize(
    ("home", "task"),
    [
        ("scored_home", "vitaldb-arrhythmia-abnormal_v0"),
        ("lydus_home", "lydus-ecg-image_v0"),
        ("heartbeat_home", "ecg-heartbeat-arrhythmia_v0"),
        ("heartbeat_home", "ecg-heartbeat-mi_v1"),
    ],
)
def test_examples_of_every_class_are_drawn_with_their_evidence(book_of, home: str, task: str) -> None:
    book = book_of(home)
    page = book.pages[f"tasks/{task}.html"]
    (spec,) = (spec for spec in specs() if spec.name.replace("@", "_v") == task)
    articles = [each for each in page.all("article") if "strip" in each.classes]
    badges = [
        each.text for article in articles for each in article.children[0].children if "badge" in each.classes
    ]
    columns = ", ".join(f'count(*) FILTER ("{name}" AND left_out IS NULL)' for name in spec.classes)
    (counted,) = book.con.execute(f"SELECT {columns} FROM {spec.view}").fetchall()
    assert {name for name, n in zip(spec.classes, counted, strict=True) if n} <= set(badges)
    drawn = [each for each in page.all("svg") if "paper" in each.classes]
    assert drawn
    traced = [each for each in page.all("path") if "trace" in each.classes and len(each.get("d")) > 1000]
    assert len(traced) >= len(drawn) / 2
    lines = [each for each in page.numbers if each.get("data-column") == "words"]
    assert len(lines) >= len(articles)


def test_without_signals_annotations_stand_alone(synthetic_home: Home) -> None:
    page = BookPage(pages_of(Site.open(synthetic_home))[VITALDB]())
    assert "No signal is loaded" in page.all("main")[0].text
    assert [each for each in page.all("path") if each.classes == {"beat"}]
    assert not [each for each in page.all("path") if each.classes == {"trace"}]


def test_the_same_home_gives_the_same_bytes(book_of, tmp_path: Path) -> None:
    book = book_of("lydus_home")
    again = write_book(book.home, tmp_path / "again")
    assert (again / MARK).read_bytes() == (book.folder / MARK).read_bytes()
    files = json.loads((again / MARK).read_text())["files"]
    assert {str(path.relative_to(again)) for path in again.rglob("*") if path.is_file()} == {*files, MARK}
    place = str(book.home.path)
    assert [name for name in files if place in (again / name).read_text()] == []


def test_a_folder_of_somebody_else_is_left_alone(book_of, tmp_path: Path) -> None:
    home = book_of("lydus_home").home
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match=r"thesis\.txt"):
        write_book(home, mine)
    (mine / MARK).write_text('{"written_by": "leadhouse docs", "files": ["index.html"]}')
    with pytest.raises(UsageError, match=r"thesis\.txt"):
        write_book(home, mine)
    assert sorted(path.name for path in mine.iterdir()) == [MARK, "thesis.txt"]
    (tmp_path / "link").symlink_to(mine)
    with pytest.raises(UsageError, match="a link"):
        write_book(home, tmp_path / "link")
    with pytest.raises(UsageError, match="a file"):
        write_book(home, mine / "thesis.txt")


def test_a_book_is_replaced_whole_or_not_at_all(book_of, tmp_path: Path, monkeypatch) -> None:
    from pipelines.book import write

    home = book_of("lydus_home").home
    pages = {"index.html": "first", "old.html": "old"}
    monkeypatch.setattr(write, "render", lambda site: iter(pages.items()))
    folder = write_book(home, tmp_path / "book")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(write, "take_place", lambda draft, out: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(HomeError, match="no space left"):
            write_book(home, folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    pages = {"index.html": "second"}
    write_book(home, folder)
    assert sorted(path.name for path in folder.iterdir()) == [MARK, "index.html"]
    assert (folder / "index.html").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["book"], "no draft stays"


def test_the_command_says_where_the_book_is(book_of, tmp_path: Path, monkeypatch) -> None:
    from pipelines.book import write

    home = book_of("lydus_home").home
    monkeypatch.setattr(write, "render", lambda site: iter({"index.html": "x"}.items()))
    run = CliRunner().invoke(cli.main, ["docs", str(tmp_path / "out"), "--data", str(home.path)])
    assert (run.exit_code, run.stdout.strip()) == (0, str(tmp_path / "out" / "index.html"))
    run = CliRunner().invoke(cli.main, ["docs", "--json", str(tmp_path / "out"), "--data", str(home.path)])
    assert json.loads(run.stdout)["book"] == str(tmp_path / "out")
    run = CliRunner().invoke(cli.main, ["docs", str(tmp_path / "none"), "--data", str(tmp_path / "empty")])
    assert run.exit_code == 2
    assert "no loaded data set" in run.stderr
    assert not (tmp_path / "none").exists()


def test_hostile_text_is_shown_and_not_obeyed(book_of, tmp_path: Path, monkeypatch) -> None:
    import shutil

    from warehouse.maps import map_rows
    from warehouse.project import project_root

    evil = "</pre><script>alert(1)</script>"
    names = (
        "tasks/lydus-ecg-image_v0.html",
        "views/lydus.record_v0.html",
        "maps/lydus_reason.html",
        "views.html",
    )
    for name in ("sql", "registry"):
        shutil.copytree(project_root() / name, tmp_path / "project" / name)
    path = tmp_path / "project" / "registry" / "maps" / "lydus_reason.csv"
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([rows[0], *([*row[:-1], evil] for row in rows[1:])])
    view = tmp_path / "project" / "sql" / "lydus" / "record_v0.sql"
    view.write_text(view.read_text().replace("\n--\n", f"\n--\n-- {evil}\n", 1))
    path = tmp_path / "project" / "registry" / "book" / "lydus-ecg-image@0.json"
    path.write_text(
        json.dumps({"rule": [evil], "read_first": [{"title": evil, "text": evil}], "limits": [evil]})
    )
    monkeypatch.setattr("warehouse.project.project_root", lambda: tmp_path / "project")
    map_rows.cache_clear()
    try:
        pages = pages_of(Site.open(book_of("lydus_home").home))
        written = {name: pages[name]() for name in names}
    finally:
        map_rows.cache_clear()
    for name in names:
        page = BookPage(written[name])
        assert page.faults == [], name
        assert len(page.all("script")) == 2, name
        assert "alert(1)" in page.all("main")[0].text, name


def test_words_of_another_shape_are_refused(tmp_path: Path, monkeypatch) -> None:
    (spec, *_) = specs()
    monkeypatch.setattr("pipelines.book.prose.registry_path", lambda *parts: tmp_path / parts[-1])
    assert read_prose(spec).rule == ()
    for text in ("{", '{"rule": "one"}', '{"rule": ["a"], "read_first": ["b"], "limits": []}'):
        (tmp_path / f"{spec.name}.json").write_text(text)
        with pytest.raises(RegistryError, match="expected rule"):
            read_prose(spec)


def palettes() -> dict[str, dict[str, str]]:
    """The colours of the book in both schemes, and by the button."""
    css = style_sheet()

    def colours(pattern: str) -> dict[str, str]:
        blocks = re.findall(pattern + r" \{(.*?)\n *\}", css, re.S)
        return {
            name: value
            for block in blocks
            for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)
        }

    return {
        "light": colours(r"(?m)^:root"),
        "dark": colours(r"  :root:not\(\[data-theme=light\]\)"),
        "button": colours(r"(?m)^:root\[data-theme=dark\]"),
    }


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


LAYERS = ("staging", "evidence", "label", "task", "report", "audit")
TEXT = [
    *((ink, ground) for ink in ("ink", "quiet", "link") for ground in ("page", "card", "code", "lift")),
    *((layer, ground) for layer in LAYERS for ground in ("page", "card")),
    *((kind, "code") for kind in ("evidence", "label", "report", "quiet")),
    *((kind, ground) for kind in ("early", "negative") for ground in ("page", "card")),
    *((f"on-{kind}", kind) for kind in ("positive", "negative", "unlabelled", "left-out", "banner")),
    *((ink, "sheet") for ink in ("trace", "early", "bounds")),
]
GRAPHICS = [(kind, "page") for kind in ("positive", "negative", "unlabelled", "input")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_aa(scheme: str) -> None:
    palette = palettes()[scheme]
    wanted = [(pair, 4.5) for pair in TEXT] + [(pair, 3.0) for pair in GRAPHICS]
    found = {pair: round(contrast(palette[pair[0]], palette[pair[1]]), 2) for pair, _ in wanted}
    assert {pair: found[pair] for pair, least in wanted if found[pair] < least} == {}


def test_the_button_gives_the_systems_dark_colours() -> None:
    found = palettes()
    assert found["dark"] == found["button"]
    assert set(found["light"]) == set(found["dark"])
    assert len(found["dark"]) > 30
