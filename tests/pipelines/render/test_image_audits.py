"""What rendered images may tell: the audits on draws as they are made, and on draws that were tampered with."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rendering import FOLDER, TASK, small_home
from sql_cases import create_table, table_columns

from pipelines.render.draws import draw, seed_of
from pipelines.render.stage import render_task
from warehouse.audit import NOT_RENDERED, audit
from warehouse.errors import HomeError
from warehouse.images import COLUMNS, DRAWS, MANIFEST, TABLE
from warehouse.spec import find_spec
from warehouse.views import Catalog

N = 3000
AUDIT = "task.lydus_ecg_image_drawn_by_class_v0"
FORBIDDEN = "task.lydus_ecg_image_v0: forbidden columns"
CLASSES = find_spec(TASK).classes


def test_the_columns_of_the_table_are_the_declared_ones():
    import polars as pl

    from pipelines.render.folder import schema

    con = duckdb.connect()
    con.register("written", pl.DataFrame(schema=schema()).to_arrow())
    described = con.execute("DESCRIBE written").fetchall()
    assert [(name, kind) for name, kind, *_ in described] == list(COLUMNS.items())


def found(noise, temperature, size, labels) -> set[tuple[str, str]]:
    """(class, quantity) that the audit's own text reports."""
    con = duckdb.connect()
    view = Catalog.read()[AUDIT]
    for name in view.reads:
        create_table(con, name, table_columns()[name])
    places = np.arange(N)
    frames = {
        "task.lydus_ecg_image_v0": pa.table(
            {"instance_id": places.astype(str), "record_id": np.char.add("r", places.astype(str))}
        ),
        f"image.{FOLDER}": pa.table(
            {"instance_id": places.astype(str), "noise": noise, "temperature": temperature, "bytes": size}
        ),
    }
    held, classes = np.nonzero(labels)
    frames["lydus.record_class_v0"] = pa.table(
        {"record_id": np.char.add("r", held.astype(str)), "class": np.array(CLASSES)[classes]}
    )
    for name, frame in frames.items():
        con.register("frame", frame)
        con.execute(f"INSERT INTO {name} ({', '.join(frame.column_names)}) SELECT * FROM frame")
    return {row[:2] for row in con.execute(view.sql).fetchall()}


@pytest.fixture(scope="module")
def drawn():
    """Draws of real seeds, sizes that follow the noise, classes as frequent as the published ones."""
    draws = [draw(seed_of(f"image-{number}")) for number in range(N)]
    noise = np.array([each.noise for each in draws])
    temperature = np.array([each.temperature for each in draws])
    rng = np.random.default_rng(0)
    size = 1_100_000 + 18_000 * noise + rng.normal(0, 30_000, N).astype(int)
    share = [0.4, 0.0115, 0.06, 0.48, 0.065, 0.084, 0.08, 0.029, 0.079, 0.34, 0.022]
    return noise, temperature, size, rng.random((N, len(share))) < share


def test_draws_from_ids_tell_no_class(drawn):
    assert found(*drawn) == set()


@pytest.mark.parametrize(("name", "more"), [("CD", 3), ("TACHY", 12), ("Acute MI", 18)])
def test_noise_that_tells_a_class_is_found(drawn, name, more):
    noise, temperature, size, labels = drawn
    there = labels[:, CLASSES.index(name)]
    assert (name, "noise") in found(noise + more * there, temperature, size, labels)


def test_light_that_tells_a_class_is_found(drawn):
    noise, temperature, size, labels = drawn
    there = labels[:, CLASSES.index("NORM")]
    assert found(noise, np.where(there, temperature // 2, temperature), size, labels) == {
        ("NORM", "temperature")
    }


def test_a_size_may_follow_the_trace_a_little(drawn):
    noise, temperature, size, labels = drawn
    there = labels[:, CLASSES.index("CD")]
    for share, expected in ((0.17, set()), (0.4, {("CD", "bytes")})):
        more = (share * size.std() * there).astype(int)
        assert found(noise, temperature, size + more, labels) == expected


def test_images_of_one_size_or_one_class_do_not_break_it(drawn):
    _, temperature, _, labels = drawn
    assert found(np.full(N, 7), temperature, np.full(N, 1), np.ones_like(labels)) == set()


def test_audit_says_that_nothing_is_rendered_and_runs_once_it_is(tmp_path):
    home = small_home(tmp_path, records=3)
    before = {finding.name: finding for finding in audit(home, TASK)}
    about_images = {name for name, finding in before.items() if finding.note == NOT_RENDERED}
    assert about_images == {
        AUDIT,
        "task.lydus_ecg_image_gives_away_v0",
        "task.lydus_ecg_image_gain_differs_v0",
    }
    render_task(home, TASK, workers=1)
    after = {finding.name: finding.count for finding in audit(home, TASK)}
    assert {name: after[name] for name in about_images} == dict.fromkeys(about_images, 0)
    assert after[FORBIDDEN] == 0


def test_a_column_that_images_must_not_have_is_found(tmp_path):
    home = small_home(tmp_path, records=2)
    render_task(home, TASK, workers=1)
    path = home.images / FOLDER / TABLE
    table = pq.read_table(path)
    for column in ("age", "record_id", "part", "AFIB/AFL"):
        pq.write_table(table.append_column(column, [["x"] * table.num_rows]), path)
        findings = {finding.name: finding for finding in audit(home, TASK)}
        assert findings[FORBIDDEN].rows == ((f"image.{FOLDER}", column),)


def test_images_that_are_not_the_ones_that_were_rendered_are_found(tmp_path):
    home = small_home(tmp_path, records=5)
    render_task(home, TASK, workers=1, geometry=True)
    folder, name = home.images / FOLDER, f"image.{FOLDER}"
    flipped, cut, gone, kept, drawn = sorted(path.relative_to(folder) for path in folder.glob("*/*.jpg"))
    assert image_files(home) == []
    data = bytearray((folder / flipped).read_bytes())
    data[20_000] ^= 1
    (folder / flipped).write_bytes(data)
    (folder / cut).write_bytes(b"")
    (folder / gone).unlink()
    (folder / kept).with_suffix(".json").write_text("{}")
    (folder / drawn).unlink()
    (folder / drawn).mkdir()
    found = {file: (table, problem) for table, file, problem in image_files(home)}
    assert found.pop(str(cut))[1].startswith("0 bytes, not 1,")
    assert set(found) == {str(flipped), str(gone), str(kept.with_suffix(".json")), str(drawn)}
    assert found[str(flipped)] == (name, "another digest")
    assert found[str(gone)] == found[str(drawn)] == (name, "missing")
    assert found[str(kept.with_suffix(".json"))] == (name, "another digest")
    assert image_files(home) == image_files(home, task=None)
    (folder / drawn).rmdir()
    render_task(home, TASK, workers=1, geometry=True)
    assert image_files(home) == []


def test_tables_of_images_that_are_damaged_are_found_and_told_how_to_mend(tmp_path):
    home = small_home(tmp_path, records=1)
    render_task(home, TASK, workers=1)
    folder = home.images / FOLDER
    for file, problem in ((DRAWS, "3 bytes, not "), (MANIFEST, "damaged")):
        whole = (folder / file).read_bytes()
        (folder / file).write_bytes(whole[:3])
        ((_, *found),) = image_files(home)
        assert found[0] == file
        assert found[1].startswith(problem)
        (folder / file).write_bytes(whole)
    (folder / TABLE).write_bytes((folder / TABLE).read_bytes()[:-9])
    with pytest.raises(HomeError, match=r"(?s)image.parquet: found .*next: run render for its task again"):
        audit(home, TASK)
    render_task(home, TASK, workers=1)
    assert image_files(home) == []


def image_files(home, task: str | None = TASK) -> list[tuple[str, ...]]:
    (found,) = (finding for finding in audit(home, task) if finding.name == "image files")
    assert found.count == len(found.rows)
    return list(found.rows)
