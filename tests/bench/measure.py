"""Measuring in processes of their own: CPU seconds of all threads and the peak of memory, imports included.

Modules are compiled once and kept, as where a package is installed: a shell that forbids it
(``PYTHONDONTWRITEBYTECODE``) would have every process compile all of ours again.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_AFTER = """
import json, resource, sys
from pathlib import Path
_used = resource.getrusage(resource.RUSAGE_SELF)
_status = Path("/proc/self/status")
if _status.exists():  # on Linux ru_maxrss begins with what the parent had
    _peak = 1024 * int(_status.read_text().partition("VmHWM:")[2].split()[0])
else:
    _peak = _used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
_cpu = _used.ru_utime + _used.ru_stime
print(json.dumps({"cpu": _cpu, "imports": globals().get("imports"), "peak": _peak, "result": result}))
"""


@dataclass(frozen=True)
class Measure:
    """Medians over the runs: CPU seconds, peak bytes; ``result`` is what the last run left in ``result``.

    ``imports_s``: the CPU seconds until the code set ``imports`` (``time.process_time()`` after its imports).
    """

    cpu_s: float
    peak: float
    result: object
    imports_s: float | None = None

    @property
    def mib(self) -> float:
        return self.peak / 2**20


def measure(code: str, *args: object, runs: int = 3) -> Measure:
    """Run Python ``code`` in fresh processes; it sees ``sys.argv[1:]`` and sets ``result`` to something for JSON."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    found = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", code + _AFTER, *map(str, args)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return Measure(
        statistics.median(run["cpu"] for run in found),
        statistics.median(run["peak"] for run in found),
        found[-1]["result"],
        statistics.median(run["imports"] for run in found) if found[-1]["imports"] is not None else None,
    )


def machine() -> str:
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
