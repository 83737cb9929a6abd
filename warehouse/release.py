"""``release``: lock a draft view. ``registry/released.json`` holds what must not move any more.

Header, lock and CHANGELOG entry change together: CHANGELOG first, the lock last. An error or Ctrl-C brings back what
was there; after a kill between two of them the same command ends the work, for an entry on the same view is replaced
and a header that says released without a lock is no release yet.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from warehouse import label_changes
from warehouse.errors import CheckFailed, UsageError
from warehouse.fingerprints import rule_digest, rule_fingerprints
from warehouse.home import Home, write_text
from warehouse.lint import lint_view
from warehouse.project import project_root, registry_path
from warehouse.release_checks import failed_audits, failed_cases
from warehouse.views import Catalog, View

CHANGELOG = "CHANGELOG.md"


@dataclass(frozen=True)
class Release:
    """What `release` did, or would do: the lock, CHANGELOG's entry (None: the view decides no task), what ran."""

    view: str
    lock: dict
    entry: str | None
    cases: int
    audits: tuple[str, ...]
    is_done: bool

    def as_json(self) -> dict:
        return asdict(self)

    def as_text(self) -> str:
        """For a terminal: the entry as it stands in CHANGELOG."""
        done = "is released" if self.is_done else "could be released; nothing was written"
        lines = [
            f"{self.view} {done}: rule {self.lock['rule'][:12]}",
            f"  {self.cases} cases and {len(self.audits)} audits passed, its grain is unique",
            *(f"  reads {name} {digest[:12]}" for name, digest in self.lock["reads"].items()),
        ]
        if self.entry is None:
            lines.append("  it decides no task: no entry below Labels changed")
        else:
            lines += [f"CHANGELOG, {label_changes.SECTION.strip('# ')}:", self.entry]
        return "\n".join(lines)


def released() -> dict[str, dict]:
    """The locks by view name."""
    path = registry_path("released.json")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def lock_of(catalog: Catalog, view: View) -> dict:
    """What a lock holds: the rule fingerprint, the tokens' own, the parents', the digests of maps and splits."""
    rules = rule_fingerprints(catalog)
    return {
        "rule": rules[view.name],
        "sql": view.sql_fingerprint,
        "parents": {parent.name: rules[parent.name] for parent in catalog.parents(view)},
        "reads": {name: digest for name in catalog.inputs(view) if (digest := rule_digest(name)) is not None},
    }


def moved(catalog: Catalog) -> list[str]:
    """What is no longer as it was released, in words; an empty list is a kept promise."""
    locks, faults = released(), []
    for name, lock in locks.items():
        if name not in catalog:
            faults.append(f"{name}: released, but its file is gone")
            continue
        view = catalog[name]
        now = lock_of(catalog, view)
        if view.status != "released":
            faults.append(f"{name}: released, but its header says {view.status}")
        if now["sql"] != lock["sql"]:
            faults.append(
                f"{name}: its SQL changed after it was released; write {view.stem}_v{view.version + 1}.sql"
            )
        for kind in ("parents", "reads"):
            for part in sorted(set(now[kind]) | set(lock[kind])):
                if now[kind].get(part) != lock[kind].get(part):
                    faults.append(f"{name}: {part}, which it reads, changed after it was released")
    faults += [
        f"{view.name}: its header says released, but it is not in registry/released.json"
        for view in catalog.values()
        if view.status == "released" and view.name not in locks
    ]
    return faults


def release(home: Home, name: str, *, without_flips: bool = False, dry_run: bool = False) -> Release:
    """Lock a draft and tell CHANGELOG what it does to labels.

    Refused (CheckFailed) when the SQL leaves the portable subset, a parent is a draft, a given/expect case is missing
    where one is expected or fails, its grain repeats on the loaded data, no audit reads a label or task view, a task
    lacks a leakage check, an audit that reads it returns rows, or the flips of a task that it decides cannot be
    computed here; ``without_flips`` lets the entry say so instead. ``dry_run`` writes nothing. Raises UsageError where
    there is no checkout to write to.
    """
    root = project_root()
    if not (root / CHANGELOG).is_file() or not (root / "tests" / "sql").is_dir():
        raise UsageError(
            f"{root}: found no checkout of the project ({CHANGELOG}, tests/sql); expected one to write the lock to",
            "run `python cli.py release …` in a checkout; an installed package holds released rules, it makes none",
        )
    catalog = Catalog.read()
    view = catalog.resolve(name)
    if view.name in released():
        raise UsageError(
            f"{view.name} is released already", f"write {view.stem}_v{view.version + 1}.sql beside it"
        )
    files = (root / CHANGELOG, view.path, registry_path("released.json"))
    if not dry_run:
        _require_writable(files)
    faults = lint_view(view)
    faults += [
        f"its parent {parent.name} is a draft"
        for parent in catalog.parents(view)
        if parent.status != "released"
    ]
    cases, wrong = failed_cases(catalog, view)
    faults += wrong
    audits, wrong = failed_audits(home, catalog, view)
    faults += wrong
    found = [] if faults else label_changes.changes(home, catalog, view)
    if not without_flips:
        faults += [
            f"{change.lacking} (build it, or pass --without-flips)" for change in found if change.lacking
        ]
    if faults:
        lines = "\n".join(f"  - {fault}" for fault in faults)
        raise CheckFailed(f"{view.name} cannot be released:\n{lines}", "mend these and release again")
    lock, entry = lock_of(catalog, view), label_changes.entry(catalog, view, found)
    changelog = (root / CHANGELOG).read_text(encoding="utf-8")
    header = view.path.read_text(encoding="utf-8")
    texts = (
        changelog if entry is None else label_changes.with_entry(changelog, view, entry),
        re.sub(r"^-- status: draft$", "-- status: released", header, count=1, flags=re.MULTILINE),
        json.dumps(dict(sorted({**released(), view.name: lock}.items())), indent=1) + "\n",
    )
    if not dry_run:
        _write_together(dict(zip(files, texts, strict=True)))
    return Release(view.name, lock, entry, cases, audits, not dry_run)


def _require_writable(files: tuple[Path, ...]) -> None:
    """UsageError where a file, or the folder that a new one takes its place in, cannot be written."""
    fixed = [str(path) for path in files if not os.access(path.parent, os.W_OK)]
    fixed += [str(path) for path in files if path.exists() and not os.access(path, os.W_OK)]
    if fixed:
        raise UsageError(f"found {', '.join(fixed)} read-only; expected a checkout that can be written")


def _write_together(texts: dict[Path, str]) -> None:
    """Write all files or none, in order; an error brings back what was there."""
    before = {path: path.read_text(encoding="utf-8") if path.exists() else None for path in texts}
    written: list[Path] = []
    try:
        for path, text in texts.items():
            written.append(path)
            if text != before[path]:
                write_text(path, text)
    except BaseException as error:
        for path in reversed(written):
            old = before[path]
            if old is None:
                path.unlink(missing_ok=True)
            elif path.read_text(encoding="utf-8") != old:
                write_text(path, old)
        if isinstance(error, OSError):
            raise UsageError(
                f"{written[-1]}: cannot be written ({error.strerror}); expected a checkout that can",
                "nothing was changed: make room or the file writable, and release again",
            ) from error
        raise
