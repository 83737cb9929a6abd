"""The wheel holds every file that the code opens: views, registry, templates, lettering, tables beside modules."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOVED = {"sql": "warehouse/_project/sql", "registry": "warehouse/_project/registry"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pytest.importorskip("hatchling", reason="builds the wheel; the test extra brings it")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout to list the files of")
def test_every_tracked_file_of_the_rooms_is_in_the_wheel(wheel: Path):
    rooms = ["cli.py", "warehouse", "pipelines", "models", "sql", "registry"]
    listed = subprocess.run(["git", "ls-files", *rooms], cwd=ROOT, check=True, capture_output=True, text=True)
    expected = set()
    for name in listed.stdout.splitlines():
        top, _, rest = name.partition("/")
        if (ROOT / name).exists():
            expected.add(f"{MOVED[top]}/{rest}" if top in MOVED else name)
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert {"pipelines/render/lettering.png", "pipelines/render/lettering.json"} <= packed
    assert expected - packed == set()


def test_a_page_is_printed_from_the_wheel_alone(wheel: Path, tmp_path: Path):
    """Unpacked, with nothing of the checkout in reach."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import numpy as np, pipelines.render.page as page\n"
        "from warehouse.leads import LEADS\n"
        "print(page.__file__)\n"
        "print(page.draw_page(dict.fromkeys(LEADS, np.zeros(1000)), 100, 0.1).pixels[741:763, 121:124].min())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    where, darkest = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert darkest == "0", "the name of lead I"
