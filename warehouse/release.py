"""``release``: lock a draft view. ``registry/released.json`` holds what must not move any more."""

from __future__ import annotations

import json
import re
from pathlib import Path

from warehouse.errors import CheckFailed, UsageError
from warehouse.fingerprints import rule_digest, rule_fingerprints
from warehouse.home import Home, write_text
from warehouse.lint import lint_view
from warehouse.project import project_root, registry_path
from warehouse.views import Catalog, View

CASES_EXPECTED = ("evidence", "label")
"""Layers whose views need given/expect cases before they are released."""


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


def release(home: Home, name: str) -> dict:
    """Lock a draft and return its lock.

    Refused (CheckFailed) when the SQL leaves the portable subset, a parent is a draft, an evidence or label view
    has no given/expect case, or an audit that reads the view returns rows in this data home.
    """
    catalog = Catalog.read()
    view = catalog.resolve(name)
    if view.name in released():
        raise UsageError(
            f"{view.name} is released already", f"write {view.stem}_v{view.version + 1}.sql beside it"
        )
    faults = lint_view(view)
    faults += [
        f"its parent {parent.name} is a draft"
        for parent in catalog.parents(view)
        if parent.status != "released"
    ]
    cases = project_root() / "tests" / "sql" / view.schema / f"{view.stem}_v{view.version}"
    if view.layer in CASES_EXPECTED and not any(cases.glob("*/expect.csv")):
        faults.append(f"no given/expect case below tests/sql/{view.schema}/{view.stem}_v{view.version}/")
    faults += _failed_audits(home, catalog, view)
    if faults:
        lines = "\n".join(f"  - {fault}" for fault in faults)
        raise CheckFailed(f"{view.name} cannot be released:\n{lines}", "mend these and release again")
    lock = lock_of(catalog, view)
    _mark_released(view.path)
    path = registry_path("released.json")
    locks = dict(sorted({**released(), view.name: lock}.items()))
    write_text(path, json.dumps(locks, indent=1) + "\n")
    return lock


def _failed_audits(home: Home, catalog: Catalog, view: View) -> list[str]:
    from warehouse.audit import NOT_RENDERED, audit

    looking = {
        other.name for other in catalog.values() if other.layer == "audit" and view in catalog.parents(other)
    }
    if not looking:
        return []
    found = [finding for finding in audit(home) if finding.name in looking]
    return [
        f"audit {finding.name}: {finding.note or f'{finding.count} rows'}"
        for finding in found
        if not finding.passed and finding.note != NOT_RENDERED
    ]


def _mark_released(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    write_text(path, re.sub(r"^-- status: draft$", "-- status: released", text, count=1, flags=re.MULTILINE))
