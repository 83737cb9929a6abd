"""Does a stored score still hold? Each link of its record against the present, and the metrics once more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from pipelines import runs
from pipelines.evaluate import evaluate, kind_of
from pipelines.train.labels import trained_labels
from warehouse.errors import CheckFailed
from warehouse.home import Home


@dataclass(frozen=True)
class Link:
    """One thing that must be as the record says. `found` and `expected` are short texts."""

    name: str
    ok: bool
    found: str | None = None
    expected: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {'ok' if self.ok else f'found {self.found}; expected {self.expected}'}"


def verify_run(home: Home, run: str) -> dict[str, Any]:
    """Check a run link by link.

    Returns ``run``, ``ok``, ``links`` (each with name, ok, found, expected), ``broken`` (the first link that
    is not ok, in words, or None) and ``packages`` (versions that differ from the record's: no link, but the
    first place to look when a last digit differs). A missing file or edited links end the list: what
    comes after cannot be checked. UsageError when there is no such run; HomeError when its task is not built.
    """
    folder = runs.run_folder(home, run)
    found: list[Link] = []
    packages: dict[str, list] = {}
    try:
        record = runs.read_record(folder)
    except CheckFailed as error:
        found.append(Link(runs.RUN, False, str(error), "a run record"))
    else:
        now = runs.package_versions()
        packages = {k: [v, now.get(k)] for k, v in record["packages"].items() if now.get(k) != v}
        for link in _links(home, run, record):
            found.append(link)
    broken = next((str(link) for link in found if not link.ok), None)
    return {
        "run": run,
        "ok": broken is None,
        "links": [asdict(link) for link in found],
        "broken": broken,
        "packages": packages,
    }


def _links(home: Home, run: str, record: Mapping[str, Any]) -> Iterator[Link]:
    contents = {}
    for name, known in record["files"].items():
        try:
            contents[name] = (home.runs / run / name).read_bytes()
        except OSError as error:
            yield Link(name, False, error.strerror or "no file", "the file that the record names")
            continue
        yield _same(name, runs.digest(contents[name]), known)
    linked = record["links"]
    yield _same("run.json (hash of its links)", runs.content_hash(linked), record["content"])
    yield _same("run.json (name)", record["run"], run)
    if set(contents) != set(record["files"]) or runs.content_hash(linked) != record["content"]:
        return
    missing = runs.missing_links(linked)
    if missing:
        yield Link("run.json (links)", False, f"none of {', '.join(missing)}", "every link of a run")
        return

    from warehouse.task import read_task

    task = read_task(home, linked["task"])
    yield _same("spec", task.spec.digest, linked["spec"])
    yield _same("published spec", task.spec.published_digest, linked["published spec"])
    yield from _nested("", _without_raw(task.inputs), _without_raw(linked["inputs"]))
    yield from _raw_tables(home, task.inputs.get(runs.RAW, {}), linked["inputs"].get(runs.RAW, {}))
    yield _same("task view", task.fingerprint, linked["view"])
    changed = ", ".join(task.stale)
    yield Link(
        "build", not changed, f"changed since: {changed}", "a build of the present rules and raw tables"
    )
    part, first = linked["part"], linked.get("first")
    rows = kind_of(task).rows(task.instances, part, first)
    yield _same("labels", runs.labels_digest(task, rows), linked["labels"])
    if "trained" in record["made_by"]:
        yield from _nested("trained labels of", trained_labels(task), record["made_by"]["trained"]["labels"])
    try:
        scores = runs.stored_predictions(task, rows, contents[runs.PREDICTIONS])
        stored = json.loads(contents[runs.SCORE])
    except (CheckFailed, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        yield Link("metrics", False, str(error), "predictions of the instances that count, and their score")
        return
    n = linked["bootstrap"]["n"]
    again = runs.links(task, rows, scores, part, n)
    yield _same("predictions (values)", again["predictions"], linked["predictions"])
    yield _same("draws", runs.dump(again["bootstrap"]), runs.dump(linked["bootstrap"]))
    scored = json.loads(runs.dump(evaluate(task, rows, scores, part, n=n, first=first).score))
    differ = next(_different(scored, stored), None)
    yield Link("metrics", True) if differ is None else Link("metrics", False, *differ)


def _without_raw(inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in inputs.items() if name != runs.RAW}


def _raw_tables(home: Home, built: Mapping[str, str], linked: Mapping[str, str]) -> Iterator[Link]:
    """A link for each raw table that the record names: what the build read, and the files as they lie there.

    A table that is not loaded any more breaks nothing: a home may keep the build alone.
    """
    from warehouse.task import raw_digests

    present = raw_digests(home, linked)
    for name, known in linked.items():
        found = [digest for digest in (built.get(name), present.get(name)) if digest not in (None, known)]
        yield _same(name, found[0] if found else known, known)


def _same(name: str, found: Any, expected: Any) -> Link:
    if found == expected:
        return Link(name, True)
    return Link(name, False, str(found), str(expected))


def _nested(prefix: str, found: Any, expected: Any) -> Iterator[Link]:
    """A link for each leaf of two trees of dictionaries, in the order of the record."""
    if not isinstance(found, Mapping) or not isinstance(expected, Mapping):
        yield _same(prefix, found, expected)
        return
    for key in [*expected, *(key for key in found if key not in expected)]:
        yield from _nested(f"{prefix} {key}".strip(), found.get(key), expected.get(key))


def _different(found: Any, expected: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The places where two JSON values differ, as (found, expected)."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in [*found, *(key for key in expected if key not in found)]:
            yield from _different(found.get(key), expected.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for index, pair in enumerate(zip(found, expected, strict=True)):
            yield from _different(*pair, f"{path}[{index}]")
    elif found != expected or type(found) is not type(expected):
        yield f"{path} = {found!r}", f"{path} = {expected!r}"


def render_verification(result: Mapping[str, Any]) -> str:
    """The result of `verify_run` for a terminal: every link, and what may explain a broken one."""
    lines = [f"run {result['run']}"]
    for link in result["links"]:
        lines.append(f"  {'ok    ' if link['ok'] else 'BROKEN'}  {link['name']}")
        if not link["ok"]:
            lines += [f"          found    {link['found']}", f"          expected {link['expected']}"]
    for name, (then, now) in result["packages"].items():
        lines.append(f"  note: scored with {name} {then}, checked with {now}")
    lines.append("every link holds" if result["ok"] else f"first broken link: {result['broken']}")
    return "\n".join(lines)
