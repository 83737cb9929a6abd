"""Axe on every kind of page of a label book, in light and dark, at a desk's width and a phone's.

Not a test of `make test`: it needs Chromium, node with puppeteer-core, and axe-core, none of which is a dependency::

    npm install --prefix SOMEWHERE puppeteer-core axe-core
    python tests/pipelines/book/axe.py BOOK --modules SOMEWHERE/node_modules [--all] [--chromium PATH]

Prints every violation with its page and element and exits 1 when there is one, or when a page is wider than its window.
Without ``--all`` it takes the lists, every task, a view of each layer, some with versions, and two maps.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = r"""
const puppeteer = require("puppeteer-core");
const axe = require.resolve("axe-core/axe.min.js");
(async () => {
  const [chromium, pages] = [process.argv[2], JSON.parse(process.argv[3])];
  const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
  let faults = 0, looked = 0;
  for (const page of pages) for (const scheme of ["light", "dark"]) for (const width of [1280, 360]) {
    const tab = await browser.newPage();
    const asked = [];
    tab.on("request", (request) => { if (!/^(file|data):/.test(request.url())) asked.push(request.url()); });
    await tab.setViewport({ width, height: 800 });
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await tab.goto("file://" + page);
    await tab.evaluate(() => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
    await tab.addScriptTag({ path: axe });
    const found = await tab.evaluate(async () => ({
      violations: (await axe.run(document, { resultTypes: ["violations"] })).violations
        .map((each) => [each.id, each.help, each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]),
      wide: document.documentElement.scrollWidth > innerWidth,
    }));
    looked += 1;
    for (const [id, help, nodes] of found.violations) {
      faults += 1;
      console.log(page, scheme, width, id, help, nodes);
    }
    if (found.wide) { faults += 1; console.log(page, scheme, width, "wider than its window"); }
    if (asked.length) { faults += 1; console.log(page, "asks for", asked); }
    await tab.close();
  }
  await browser.close();
  console.log(`${looked} looks at ${pages.length} pages, ${faults} faults`);
  process.exit(faults ? 1 : 0);
})();
"""


def kinds(book: Path) -> list[Path]:
    """A page of every kind: the lists, all tasks, views of every layer and with versions, two maps."""
    lists = [book / name for name in ("index.html", "views.html", "maps.html")]
    tasks = sorted((book / "tasks").glob("*.html"))
    views: dict[str, Path] = {}
    for path in sorted((book / "views").glob("*.html")):
        layer = path.read_text(encoding="utf-8").split('class="chip layer-')[1].split('"')[0]
        views.setdefault(layer, path)
    versions = sorted((book / "views").glob("*_v[1-9].html"))[-3:]
    smallest = sorted((book / "maps").glob("*.html"), key=lambda path: (path.stat().st_size, path.name))[:2]
    return [*lists, *tasks, *dict.fromkeys([*views.values(), *versions]), *smallest]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("book", type=Path)
    parser.add_argument(
        "--modules", type=Path, required=True, help="node_modules with puppeteer-core and axe-core"
    )
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    parser.add_argument("--all", action="store_true", help="Every page.")
    options = parser.parse_args()
    book = options.book.resolve()
    pages = sorted(book.rglob("*.html")) if options.all else kinds(book)
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "axe.js"
        script.write_text(SCRIPT, encoding="utf-8")
        words = ["node", str(script), str(options.chromium), json.dumps([str(page) for page in pages])]
        return subprocess.run(
            words, env={"NODE_PATH": str(options.modules.resolve()), "PATH": "/usr/bin:/bin"}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
