import json

import pytest

from pipelines.render.settings import LAYOUTS, PUBLISHED, PageSettings
from warehouse.errors import UsageError
from warehouse.spec import find_spec


def test_the_published_settings_are_the_specs():
    for task in ("lydus-ecg-image@0", "cinc2024-ptbxl-image@0"):
        image = find_spec(task).data["input"]["image"]
        settings = find_spec(task).data["input"]["render"]["settings"]
        assert [list(row) for row in LAYOUTS[PUBLISHED.layout]] == image["rows"]
        assert PUBLISHED.dpi == image["dpi"] == settings["resolution_dpi"]
        assert (image["width"], image["height"]) == (2200, 1700)
        assert PUBLISHED.paper_mm_per_s == image["mm_per_s"]
        assert PUBLISHED.gain_mm_per_mv == image["mm_per_mv"]
        assert PUBLISHED.rhythm == (image["rhythm_strip"],) == (settings["full_mode"],)
        assert PUBLISHED.palette == str(settings["standard_grid_color"])


def test_a_digest_is_of_the_values():
    assert PageSettings(paper_mm_per_s=25, rhythm=["II"], palette=5).digest == PUBLISHED.digest
    assert json.loads(json.dumps(PUBLISHED.as_dict())) == {
        "dpi": 200,
        "layout": "3x4",
        "rhythm": ["II"],
        "palette": "5",
        "paper_mm_per_s": 25.0,
        "gain_mm_per_mv": 10.0,
    }
    others = [
        PageSettings(dpi=100),
        PageSettings(layout="6x2"),
        PageSettings(rhythm=()),
        PageSettings(palette="bw"),
        PageSettings(paper_mm_per_s=50),
        PageSettings(gain_mm_per_mv=5),
    ]
    assert len({PUBLISHED.digest, *(each.digest for each in others)}) == 7


@pytest.mark.parametrize(
    "wrong",
    [
        {"dpi": 10},
        {"dpi": 601},
        {"dpi": 200.5},
        {"dpi": "200"},
        {"dpi": True},
        {"layout": "4x3"},
        {"palette": "6"},
        {"palette": None},
        {"rhythm": ("MLII",)},
        {"rhythm": ("II", "II")},
        {"rhythm": "II"},
        {"paper_mm_per_s": 0},
        {"paper_mm_per_s": float("nan")},
        {"gain_mm_per_mv": -10},
    ],
)
def test_settings_that_print_no_page(wrong):
    with pytest.raises(UsageError, match=f"page setting {next(iter(wrong))}: found .*; expected"):
        PageSettings(**wrong)
