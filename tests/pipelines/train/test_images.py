"""Rendered pages as a model reads them: decoded once, small, and nothing of a damaged file."""

import json
import shutil

import cv2
import numpy as np
import polars as pl
import pytest
from toy_pages import HEIGHT, WIDTH, write_pages

from pipelines.render.jpeg import encode, encode_png
from pipelines.train.images import image_inputs, sampled_moments, small_grey
from warehouse.errors import HomeError, InputError
from warehouse.images import MANIFEST, TABLE

TASK = "toy-pages@0"


@pytest.fixture
def read(street):
    def read(rows=(0, 3, 6, 9), scale=0.5, **options):
        return image_inputs(street.home, street.tasks[TASK], np.array(rows), scale, **options)

    return read


def test_pages_in_the_order_of_the_rows(street, read):
    found = read(rows=(9, 3, 0))
    assert found.data.shape == (3, HEIGHT // 2, WIDTH // 2)
    assert found.data.dtype == np.uint8
    assert found.rows.tolist() == [9, 3, 0]
    for place, name in enumerate(("0009", "0003", "0000")):
        content = (street.images(TASK) / f"00/{name}.jpg").read_bytes()
        np.testing.assert_array_equal(
            found.data[place], small_grey(content, (HEIGHT, WIDTH), (HEIGHT // 2, WIDTH // 2), jpeg=True)
        )


def test_a_page_is_decoded_once(street, read):
    first = read()
    shutil.rmtree(street.images(TASK) / "00")
    again = read()
    np.testing.assert_array_equal(first.data, again.data)
    assert isinstance(again.data, np.memmap)
    with pytest.raises(InputError, match=r"4 images of .* cannot be used"):
        read(scale=0.25)


def test_any_number_of_threads_gives_the_same(street, read):
    one = np.array(read(range(0, 72, 3), workers=1).data)
    shutil.rmtree(street.home.path / "cache")
    np.testing.assert_array_equal(one, read(range(0, 72, 3), workers=3).data)


def test_other_images_are_decoded_again(street, read):
    before = read()
    write_pages(street.images(TASK), street.tasks[TASK], seed=2)
    after = read()
    assert before.digest != after.digest
    assert not np.array_equal(before.data, after.data)


@pytest.mark.parametrize("left", [b"", b"\x93NUMPY rubbish"])
def test_a_damaged_cache_is_made_again(street, read, left):
    before = np.array(read().data)
    (path,) = (street.home.path / "cache").rglob("*.npy")
    path.write_bytes(left or path.read_bytes()[:-100])
    np.testing.assert_array_equal(before, read().data)


def test_what_a_killed_process_left_goes(street, read):
    folder = street.home.path / "cache" / "images" / "toy_pages_v0"
    folder.mkdir(parents=True)
    (folder / ".32x48-0.npy.0123456789ab").write_bytes(b"half")
    read()
    assert [path.suffix for path in folder.iterdir() if path.name != ".lock"] == [".npy"]


@pytest.mark.parametrize("by", [2, 4, 8])
def test_a_reduced_jpeg_is_the_mean_of_its_pixels(by):
    rng = np.random.default_rng(0)
    smooth = cv2.GaussianBlur(rng.integers(0, 256, (160, 240)).astype(np.float32), (0, 0), 3)
    pixels = np.repeat(((smooth - 128) * 4 + 128).clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
    size = (160 // by, 240 // by)
    small = small_grey(encode(pixels, 100), (160, 240), size, jpeg=True)
    mean = pixels[:, :, 0].reshape(size[0], by, size[1], by).mean(axis=(1, 3))
    assert small.shape == size
    assert np.abs(small - mean).max() < 12
    assert np.abs(small - mean).mean() < 1.5


def test_another_scale_and_a_png_are_means_by_area():
    pixels = np.zeros((60, 90, 3), np.uint8)
    pixels[:, ::3] = 255  # a line in three columns: skipping pixels would lose it
    small = small_grey(encode_png(pixels), (60, 90), (20, 30), jpeg=False)
    assert (small == 85).all()
    assert small_grey(encode(pixels, 100), (60, 90), (20, 30), jpeg=True) == pytest.approx(85, abs=6)


@pytest.mark.parametrize("content", [b"", b"no image", encode_png(np.zeros((60, 80, 3), np.uint8))])
def test_what_is_no_image_of_that_size(content):
    assert small_grey(content, (60, 90), (20, 30), jpeg=False) is None


def test_nothing_rendered(street, read):
    shutil.rmtree(street.images(TASK))
    with pytest.raises(HomeError, match=r"no rendered images of toy-pages@0(.|\n)*`render toy-pages@0`"):
        read()


def test_instances_that_were_not_rendered_yet(street, read):
    write_pages(street.images(TASK), street.tasks[TASK], skip=("0003", "0006"))
    with pytest.raises(
        InputError, match=r"no image of 2 instances \(0003, 0006\)(.|\n)*`render toy-pages@0`"
    ):
        read()


def test_instances_that_cannot_be_drawn_are_absent(street, read):
    write_pages(street.images(TASK), street.tasks[TASK], failed=("0003",))
    found = read()
    assert found.absent == {"0003": "no signal"}
    assert found.rows.tolist() == [0, 6, 9]
    assert len(found.data) == 3


def test_no_image_at_all(street, read):
    write_pages(street.images(TASK), street.tasks[TASK], failed=("0000", "0003"))
    with pytest.raises(InputError, match="found no image of the 2 instances"):
        read(rows=(0, 3))


def test_damaged_and_missing_images_are_named(street, read):
    folder = street.images(TASK) / "00"
    (folder / "0003.jpg").write_bytes((folder / "0003.jpg").read_bytes()[:-40])
    (folder / "0009.jpg").unlink()
    with pytest.raises(InputError) as caught:
        read()
    text = str(caught.value)
    assert "2 images of" in text
    assert "00/0003.jpg: found sha256" in text
    assert "00/0009.jpg: found No such file" in text
    assert "run `render` for toy-pages@0 again" in text
    assert not list((street.home.path / "cache").rglob("*.npy*"))


def test_a_file_that_is_no_image_although_the_manifest_knows_it(street, read):
    folder = street.images(TASK)
    (folder / "00/0003.jpg").write_bytes(b"text")
    _change_table(
        folder,
        pl.when(pl.col("instance_id") == "0003")
        .then(pl.lit("982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"))
        .otherwise(pl.col("sha256"))
        .alias("sha256"),
    )
    with pytest.raises(InputError, match=r"00/0003.jpg: found no readable image; expected jpeg"):
        read()


def test_images_of_two_sizes(street, read):
    _change_table(
        street.images(TASK),
        pl.when(pl.col("instance_id") == "0003").then(100).otherwise(pl.col("width")).alias("width"),
    )
    with pytest.raises(InputError, match="images of different sizes"):
        read()


def _change_table(folder, expression):
    import hashlib

    pl.read_parquet(folder / TABLE).with_columns(expression).write_parquet(folder / TABLE)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["tables"][TABLE]["sha256"] = hashlib.sha256((folder / TABLE).read_bytes()).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_moments_are_those_of_the_pixels():
    data = np.random.default_rng(0).integers(0, 256, (7, 5, 6)).astype(np.uint8)
    mean, sd = sampled_moments(data)
    assert mean == pytest.approx(data.mean() / 255)
    assert sd == pytest.approx(data.std() / 255)
