"""`demo`: the commands in their order, what stops it, and one real walk."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import demo
from pipelines.demo import run_demo
from warehouse.errors import CheckFailed, UsageError
from warehouse.home import Home, generation
from warehouse.load.report import LoadReport, write_report
from warehouse.project import project_root

VERBS = ["load", "materialize", "counts", "audit", "baseline", "baseline", "score", "score", "leaderboard"]


class Runner:
    """Stands in for the command line: keeps what it is asked and answers with exit codes."""

    def __init__(self, codes: dict[str, int] | None = None) -> None:
        self.lines: list[list[str]] = []
        self.said: list[str] = []
        self.codes = codes or {}

    def __call__(self, args: list[str]) -> int | None:
        self.lines.append(args)
        return self.codes.get(args[0])

    def walk(self, home: Home) -> Path:
        return run_demo(home, cases=6, seconds=60, invoke=self, echo=self.said.append)


@pytest.fixture
def written(monkeypatch) -> list[Path]:
    pages: list[Path] = []
    monkeypatch.setattr(demo, "write_report", lambda home, task, out: pages.append(out) or out)
    return pages


def test_the_street_in_its_order(tmp_path: Path, written: list[Path]) -> None:
    runner = Runner()
    page = runner.walk(Home(tmp_path / "home"))
    assert [line[0] for line in runner.lines] == VERBS
    assert written == [page] == [tmp_path / "home" / "demo" / "report.html"]
    load = runner.lines[0]
    release = Path(load[2])
    assert load[3:5] == ["--signals", str(release / "vital")]
    assert len(list(release.rglob("Annotation_file_*.csv"))) == 6
    assert len(list(release.rglob("*.vital"))) == 6
    assert all(line[-2:] == ["--data", str(tmp_path / "home")] for line in runner.lines)
    assert [line[2] for line in runner.lines if line[0] == "baseline"] == ["prior", "rr-detected"]
    assert "--against" in runner.lines[7]
    assert "--against" not in runner.lines[6]


def test_a_street_without_a_page(tmp_path: Path, written: list[Path]) -> None:
    runner = Runner()
    home = Home(tmp_path / "home")
    page = run_demo(home, task="ecg-heartbeat-arrhythmia", cases=6, invoke=runner, echo=runner.said.append)
    assert (page, written) == (None, [])
    verbs = ["load", "materialize", "counts", "audit", "sql", "sql", "baseline", "score", "leaderboard"]
    assert [line[0] for line in runner.lines] == verbs
    assert len(list((home.path / "demo" / "mitbih").glob("*.atr"))) == 6
    assert "open it in a browser" not in runner.said[-1]
    assert "The hearts are made up" in runner.said[-1]


def test_the_street_of_another_task(tmp_path: Path, written: list[Path]) -> None:
    runner = Runner()
    page = run_demo(Home(tmp_path), task="lydus-ecg-image", cases=20, invoke=runner, echo=runner.said.append)
    assert written == [page] == [tmp_path / "demo" / "report-images.html"]
    verbs = [
        "load",
        "materialize",
        "counts",
        "audit",
        "sql",
        "sql",
        "render",
        "baseline",
        "score",
        "leaderboard",
    ]
    assert [line[0] for line in runner.lines] == verbs
    assert (tmp_path / "demo" / "lydus" / "metadata.csv").exists()
    assert "20 synthetic records" in runner.said[0]
    (drawn,) = (line for line in runner.lines if line[0] == "render")
    assert drawn[1:6] == ["lydus-ecg-image", "--part", "test", "--limit", "12"]


def test_images_of_an_earlier_demo_are_drawn_anew(tmp_path: Path, written: list[Path]) -> None:
    folder = tmp_path / "images" / "lydus_ecg_image_v0"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    run_demo(Home(tmp_path), task="lydus-ecg-image", cases=20, invoke=Runner(), echo=lambda text: None)
    assert not folder.exists()


def test_a_task_without_a_demo(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="found no demo of nothing; expected one of: vitaldb-arrhythmia-abnormal"
    ):
        run_demo(Home(tmp_path), task="nothing", invoke=Runner())


def test_what_is_shown_is_what_ran(tmp_path: Path, written: list[Path], monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    runner = Runner()
    runner.walk(Home.resolve())
    shown = re.findall(r"^\$ leadhouse (.*)$", "\n".join(runner.said), re.M)
    assert [shlex.split(line) for line in shown] == runner.lines
    assert not any("--data" in line or str(tmp_path) in line for line in shown), (
        "the default home needs no option"
    )


def test_the_first_bad_exit_ends_it(tmp_path: Path, written: list[Path]) -> None:
    runner = Runner({"audit": 1})
    with pytest.raises(CheckFailed, match=r"audit .*exit code 1"):
        runner.walk(Home(tmp_path))
    assert [line[0] for line in runner.lines] == VERBS[:4]
    assert written == []


def test_a_shorter_demo_leaves_no_case_of_a_longer_one(tmp_path: Path, written: list[Path]) -> None:
    home = Home(tmp_path)
    run_demo(home, cases=7, seconds=60, invoke=Runner(), echo=lambda text: None)
    Runner().walk(home)
    assert len(list((tmp_path / "demo" / "vitaldb-arrhythmia").rglob("*.vital"))) == 6


def test_another_release_is_not_loaded_over(tmp_path: Path, written: list[Path]) -> None:
    home = Home(tmp_path)
    with generation(home.raw / "vitaldb-arrhythmia") as folder:
        write_report(folder, LoadReport("vitaldb-arrhythmia", "vitaldb"))
    runner = Runner()
    with pytest.raises(UsageError, match="found a loaded vitaldb-arrhythmia; expected a home without one"):
        runner.walk(home)
    assert runner.lines == []
    assert not (tmp_path / "demo").exists()


def _walk(home: Path, tmp_path: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(project_root() / "cli.py"), "demo", "--cases", "6", "--seconds", "120"]
    return subprocess.run(
        [*command, "--data", str(home)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_real_walk_twice(tmp_path: Path) -> None:
    first, second = (_walk(tmp_path / "home", tmp_path) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert second.returncode == 0, second.stderr
    lines = [shlex.split(line) for line in re.findall(r"^\$ (.*)$", first.stdout, re.M)]
    assert [next(word for word in line if word in VERBS) for line in lines] == VERBS
    page = (tmp_path / "home" / "demo" / "report.html").read_text()
    assert "Synthetic data" in page
    assert page.count("<article") >= 8
    ours = str(tmp_path)
    for number in re.findall(r"auroc \(primary\) +(\S+)", first.stdout):
        assert f"{float(number):.3f}" in page
    numbers = [
        re.findall(
            r"^  \w.* \d\.\d{4} .*$|^(?:train|validation|test|total) .*$", each.stdout.replace(ours, ""), re.M
        )
        for each in (first, second)
    ]
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) > 20


def test_torch_stays_out(tmp_path: Path) -> None:
    code = (
        "import sys, pipelines.demo, pipelines.report, pipelines.strips, pipelines.results;"
        "sys.exit(any(name in sys.modules for name in ('torch', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=project_root(), check=False).returncode == 0
