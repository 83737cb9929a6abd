"""Standard output that is closed, full or not read to its end: an exit code and at most one line, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def shell(words: str, tmp_path: Path) -> subprocess.CompletedProcess:
    """Run our program in a shell; its exit code stands in `returncode`, also before a pipe."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} cli.py {words}"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "LEADHOUSE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("words", ["views", "--help", "cite lydus-ecg-image"])
@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        ("2>&- >/dev/null", 0, ""),
        (">/dev/full", 2, "leadhouse: the output cannot be written (No space left on device)\n"),
        (">/dev/full 2>/dev/full", 2, ""),
        ("| true", 1, ""),
    ],
)
def test_output_that_goes_nowhere(tmp_path, words, where, code, said):
    done = shell(f"{words} {where}", tmp_path)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("where", [">&-", ">/dev/full", "2>/dev/full", "2>&-", "| true"])
def test_an_error_keeps_its_exit_code(tmp_path, where):
    done = shell(f"cite no-such-task {where}", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
