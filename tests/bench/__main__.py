"""Run the benchmarks by name, all of them without a name."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import tests.bench
from tests.bench.measure import machine


def main(names: list[str]) -> None:
    known = [
        module.name
        for module in pkgutil.iter_modules(tests.bench.__path__)
        if module.name not in ("__main__", "measure") and not module.name.startswith("test_")
    ]
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"found no benchmark {', '.join(unknown)}; expected some of: {', '.join(known)}")
    print(machine())
    for name in names or known:
        print(f"\n{importlib.import_module(f'tests.bench.{name}').table()}")


main(sys.argv[1:])
