"""The rooms: who imports whom, and what is heavy stays out of the command line's start."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("warehouse", "models", "pipelines", "cli")
MAY_IMPORT = {
    "warehouse": set(),
    "models": set(),
    "pipelines": {"warehouse", "models"},
    "cli": {"warehouse", "models", "pipelines"},
}
NEVER = {
    "warehouse": {"torch", "torchvision", "PIL"},
    "models": {"duckdb", "polars", "pyarrow", "wfdb", "vitaldb"},
    "pipelines": set(),
    "cli": set(),
}
HEAVY = {
    "numpy",
    "duckdb",
    "pyarrow",
    "sqlglot",
    "torch",
    "torchvision",
    "sklearn",
    "scipy",
    "matplotlib",
    "polars",
    "pandas",
    "PIL",
    "cv2",
    "vitaldb",
    "wfdb",
}


def python_files(root: Path) -> dict[Path, str]:
    """File → room, for every Python file outside ``tests/``."""
    found = {path: room for room in ROOMS for path in sorted((root / room).rglob("*.py"))}
    return found | {path: path.stem for path in [root / "cli.py"] if path.exists()}


def imports(path: Path, package: tuple[str, ...]) -> list[tuple[int, str]]:
    """Line and whole name of every import in a file, inside functions too; ``package`` resolves relative ones."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            found.append((node.lineno, ".".join([*base, *([node.module] if node.module else [])])))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "__import__",
            "importlib.import_module",
            "import_module",
        ):
            name = node.args[0] if node.args else None
            found.append((node.lineno, name.value if isinstance(name, ast.Constant) else "<computed>"))
    return found


def wrong_arrows(root: Path) -> list[str]:
    faults = []
    for path, room in python_files(root).items():
        place = path.relative_to(root)
        for line, name in imports(path, place.parts[:-1]):
            top = name.split(".")[0]
            if top in ROOMS and top != room and top not in MAY_IMPORT[room]:
                faults.append(f"{place}:{line}: {room} imports {name}")
            if top == "tests" or top in NEVER[room]:
                faults.append(f"{place}:{line}: {room} imports {name}")
    return faults


def test_imports_walk_the_arrows():
    assert len(python_files(ROOT)) > 30
    assert wrong_arrows(ROOT) == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("warehouse/a.py", "from pipelines.score import score"),
        ("warehouse/load/a.py", "def f():\n    import torch"),
        ("warehouse/a.py", "from PIL import Image"),
        ("warehouse/a.py", "import models"),
        ("models/a.py", "from warehouse import views"),
        ("models/a.py", "import importlib\nimportlib.import_module('warehouse')"),
        ("pipelines/a.py", "import cli"),
        ("pipelines/a.py", "from tests.oracle import label_case"),
        ("cli.py", "import tests"),
    ],
)
def test_a_wrong_arrow_is_found(tmp_path, file, line):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{line}\n", encoding="utf-8")
    assert len(wrong_arrows(tmp_path)) == 1


@pytest.mark.parametrize(
    "line", ["from .views import View", "from ..warehouse import x", "import warehouse.home"]
)
def test_a_room_may_import_itself(tmp_path, line):
    path = tmp_path / "warehouse" / "load" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"{line}\n", encoding="utf-8")
    assert wrong_arrows(tmp_path) == []


def test_no_python_among_rules_and_declarations():
    assert [path for room in ("sql", "registry") for path in (ROOT / room).rglob("*.py")] == []


def loaded_by(*modules: str) -> set[str]:
    """What is in ``sys.modules`` after an import in a fresh interpreter."""
    code = f"import sys, json, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_command_line_starts_without_heavy_modules():
    loaded = loaded_by("cli")
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_no_module_of_the_core_needs_torch_or_pillow():
    files = [path for path, room in python_files(ROOT).items() if room in ("warehouse", "pipelines")]
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files
    ]
    assert loaded_by(*names) & {"torch", "torchvision", "PIL"} == set()
