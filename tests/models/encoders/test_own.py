"""An encoder of one's own: the file and the card that docs/encoders.md and README.md print, put where they say."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("cli.py", "models", "registry", "warehouse", "pipelines", "sql")
FILE, CARD = "models/encoders/seconds.py", "registry/encoders/seconds.json"
PAGES = ("docs/encoders.md", "README.md")


def blocks(page: str) -> dict[str, str]:
    """The code under each sentence that ends with a path, and the one that uses it, of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = {path: code for path, code in re.findall(r"`([\w/.]+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL)}
    (found["use"],) = (
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if '"seconds"' in code
    )
    return found


@pytest.fixture(scope="module", params=PAGES)
def checkout(request, tmp_path_factory) -> tuple[Path, str]:
    """A copy of the project with the page's file and card in it, and the page's code that uses them."""
    place = tmp_path_factory.mktemp("checkout")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, place / part)
    shown = blocks(request.param)
    for path in (FILE, CARD):
        assert not (place / path).exists()
        (place / path).write_text(shown[path], encoding="utf-8")
    return place, shown["use"]


def ran(place: Path, *command: str) -> subprocess.CompletedProcess:
    """Python in the copy, which must not see this checkout."""
    return subprocess.run(
        [sys.executable, *command], cwd=place, capture_output=True, text=True, env={"PYTHONPATH": str(place)}
    )


def test_what_the_page_prints_makes_one_and_calls_it(checkout):
    place, use = checkout
    seen = "import models.encoders.seconds as own\nprint(own.__file__, sequence.mean(1).allclose(pooled))"
    done = ran(place, "-c", f"{use}\n{seen}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(place / FILE), "True"]


def test_it_keeps_the_contract_as_the_published_ones_do(checkout):
    place, _ = checkout
    done = ran(
        place,
        "-c",
        "import json, torch\n"
        "from models import encoders\n"
        "encoder = encoders.create('seconds', nan='zero')\n"
        "x = torch.randn(2, 12, 1000)\n"
        "x[0, 3, :7] = float('nan')\n"
        "encoder(x)\n"
        "try:\n"
        "    encoder(x[..., :999], fs=100)\n"
        "except encoders.EncoderError as error:\n"
        "    said = str(error)\n"
        "sizes = {name: sum(each.numel() for each in group) for name, group in encoder.layer_groups().items()}\n"
        "print(json.dumps([encoder.filled, said, sizes]))",
    )
    assert done.returncode == 0, done.stderr
    filled, said, sizes = json.loads(done.stdout)
    assert filled == 7
    assert "too short: seconds takes windows of 10 s" in said
    assert sizes == {"early": 12 * 64 * 100 + 64, "late": 64 * 64 * 3 + 64}


def test_the_command_line_lists_it(checkout):
    place, _ = checkout
    done = ran(place, "cli.py", "encoders", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    rows = listed["encoders"] if isinstance(listed, dict) else listed
    (row,) = (each for each in rows if each["name"] == "seconds")
    assert (row["title"], row["chunk_seconds"], row["model_fs"], row["feature_dim"], row["fault"]) == (
        "A convolution a second",
        10.0,
        100,
        64,
        None,
    )
    assert {"merl", "ecg_fm"} <= {each["name"] for each in rows}


def test_its_checkpoint_is_read_by_its_card_and_one_of_another_net_is_not(checkout):
    place, _ = checkout
    written = ran(
        place,
        "-c",
        "import torch\n"
        "from models import encoders\n"
        "state = encoders.create('seconds').state_module.state_dict()\n"
        "torch.save({'state_dict': {f'module.{key}': each for key, each in state.items()}, 'epoch': 3}, 'own.pt')\n"
        "torch.save(encoders.create('dummy').state_module.state_dict(), 'other.pt')",
    )
    assert written.returncode == 0, written.stderr
    good, bad = (
        ran(place, "cli.py", "encoders", "check", "seconds", file) for file in ("own.pt", "other.pt")
    )
    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode == 1, bad.stdout + bad.stderr
