"""Draws: the golden records' values, the order, no global state, the table."""

import inspect
import json
import random
import re
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from pipelines.render import draws as module
from pipelines.render.draws import (
    FONTS,
    PUBLISHED_AUGMENT,
    AugmentSettings,
    Draws,
    draw,
    draws_frame,
    seed_of,
)
from warehouse.errors import UsageError
from warehouse.spec import find_spec


@pytest.fixture(scope="module")
def golden(shared):
    return json.loads((shared / "golden" / "render" / "draws.json").read_text(encoding="utf-8"))


def test_every_draw_of_the_golden_records(golden):
    assert len(golden) == 12
    for name, expected in golden.items():
        drawn = draw(seed_of(name))
        assert drawn.seed == expected["seed"]
        values = (drawn.font, drawn.grey, drawn.noise, drawn.crop_coin, drawn.warm, drawn.temperature)
        assert [*values, drawn.rotation, drawn.crop] == [value for *_, value in expected["draws_in_order"]]
        assert drawn.font == expected["font_drawn"]
        assert drawn.grey == expected["trace_grey"]
        assert (drawn.noise, drawn.temperature) == (expected["noise"], expected["temperature"])
        assert drawn.crop == expected["crop_fraction"]


def test_a_plain_page_draws_font_and_grey_only(golden):
    for expected in golden.values():
        drawn = draw(expected["seed"], plain=True)
        assert [drawn.font, drawn.grey] == [value for *_, value in expected["draws_plain"]]
        assert drawn == Draws(expected["seed"], drawn.font, drawn.grey)


def test_bounds_and_streams_of_the_golden_records(golden):
    """What was drawn from is what we draw from."""
    name, bounds, _ = zip(*golden["s0010_00s"]["draws_in_order"], strict=True)
    assert bounds[0] == str(list(FONTS))
    assert name == ("choice", "uniform", "choice", "choice", "choice", "choice", "randint", "uniform")


@pytest.mark.parametrize("task", ["lydus-ecg-image@0", "cinc2024-ptbxl-image@0"])
def test_the_defaults_are_the_specs(task):
    render = find_spec(task).data["input"]["render"]
    settings = render["settings"]
    assert render["seed_prefix"] == module.SEED_PREFIX
    assert settings["noise_max"] == PUBLISHED_AUGMENT.noise_max
    assert settings["crop"] == PUBLISHED_AUGMENT.crop
    assert settings["rotate_deg"] == PUBLISHED_AUGMENT.rotate_deg
    assert settings["wrinkles"] == PUBLISHED_AUGMENT.wrinkles


def test_a_seed_has_31_bits_and_follows_the_prefix():
    seeds = {seed_of(f"record{number}") for number in range(500)}
    assert len(seeds) == 500
    assert max(seeds) < 2**31
    assert max(seeds) > 2**30
    assert seed_of("s0010_00s", prefix=1) != seed_of("s0010_00s")


def test_no_global_state():
    random.seed(1)
    np.random.seed(1)
    before = random.getstate(), np.random.get_state()[1].tolist()
    one = draw(77)
    random.seed(2)
    assert draw(77) == one
    random.seed(1)
    draw(78)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_values_lie_within_their_bounds_and_reach_them():
    drawn = [draw(seed) for seed in range(3000)]
    assert {each.noise for each in drawn} == set(range(1, 51))
    assert {each.font for each in drawn} == set(FONTS)
    assert all(0 <= each.grey <= 0.2 and 0 <= each.crop <= 0.01 and each.rotation == 0 for each in drawn)
    warm = [each.temperature for each in drawn if each.warm]
    cold = [each.temperature for each in drawn if not each.warm]
    assert set(warm) < set(range(2000, 4000))
    assert set(cold) < set(range(10000, 20000))
    assert (min(warm), max(warm), min(cold), max(cold)) == pytest.approx(
        (2000, 4000, 10000, 20000), rel=0.005
    )
    assert 0.45 < len(warm) / len(drawn) < 0.55


def test_a_turn_is_drawn_either_way():
    turned = {draw(seed, AugmentSettings(rotate_deg=3)).rotation for seed in range(200)}
    assert turned == set(range(-3, 4))


def test_wrinkles_are_drawn_before_the_noise():
    plain, creased = draw(9), draw(9, AugmentSettings(wrinkles=True))
    assert (creased.font, creased.grey) == (plain.font, plain.grey)
    assert plain.texture is None
    assert 0 <= creased.crease_angle <= 90
    assert 1 <= creased.creases_down <= 10
    assert 1 <= creased.texture <= 20
    assert creased.noise != plain.noise


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("noise_max", 0),
        ("noise_max", 2.5),
        ("crop", 0.5),
        ("crop", -0.1),
        ("rotate_deg", 181),
        ("rotate_deg", True),
        ("crease_angle", 91),
    ],
)
def test_a_setting_out_of_bounds_is_refused(setting, value):
    with pytest.raises(UsageError, match=f"{setting}: found {value!r}; expected"):
        AugmentSettings(**{setting: value})


def test_the_table_has_every_value_and_the_documented_columns():
    drawn = [("a", draw(1)), ("b", draw(2, plain=True)), ("c", draw(3, AugmentSettings(wrinkles=True)))]
    frame = draws_frame(drawn)
    documented = re.findall(r"^``(\w+)`` ", inspect.getdoc(module), flags=re.MULTILINE)
    assert frame.columns == documented == ["instance_id", *(field.name for field in fields(Draws))]
    assert frame["temperature"].to_list() == [draw(1).temperature, None, drawn[2][1].temperature]
    assert frame["grey"].to_list() == [each.grey for _, each in drawn]
    assert draws_frame([]).schema == frame.schema
    assert frame.schema["warm"] == pl.Boolean


def test_a_line_of_json_gives_the_draws_back():
    drawn = draw(123)
    assert Draws(**json.loads(json.dumps(drawn.as_dict()))) == drawn
