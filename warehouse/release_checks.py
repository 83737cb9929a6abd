"""What `release` runs before it locks a view: given/expect cases, the grain, audits, and whether they are there."""

from __future__ import annotations

import duckdb

from warehouse.errors import LeadhouseError
from warehouse.home import Home
from warehouse.project import project_root
from warehouse.views import Catalog, View

CASES_EXPECTED = ("evidence", "label")
"""Layers whose views need given/expect cases, in the tests as in `release`; there task views and audits too."""
AUDITS_EXPECTED = ("label", "task")
"""Layers whose views some audit must read, itself or through others, before they are released."""


def failed_cases(catalog: Catalog, view: View) -> tuple[int, list[str]]:
    """How many given/expect cases were run, and which are missing or fail."""
    from warehouse.cases import Bench, find_cases

    place = f"tests/sql/{view.schema}/{view.stem}_v{view.version}/"
    try:
        cases = find_cases(project_root() / "tests" / "sql", view)
    except (LeadhouseError, OSError) as error:
        return 0, [f"a case below {place} cannot be read: {error}"]
    if not cases:
        wanted = view.layer in (*CASES_EXPECTED, "task", "audit")
        return 0, [f"no given/expect case below {place}"] if wanted else []
    bench, faults = Bench(catalog), []
    for case in cases:
        try:
            differing = bench.failure(view, case)
        except LeadhouseError as error:
            differing = f"  {error}"
        if differing:
            faults.append(f"case {case.name} fails\n{differing}")
    return len(cases), faults


def failed_audits(home: Home, catalog: Catalog, view: View) -> tuple[tuple[str, ...], list[str]]:
    """The audits that ran, and what is missing or fails; the view's own grain among it."""
    from warehouse.audit import declared_leaks
    from warehouse.database import computable, inputs
    from warehouse.images import SCHEMA
    from warehouse.leakage import audits_of
    from warehouse.spec import specs
    from warehouse.variant import Variant, open_variant

    reading = [
        other
        for other in catalog.values()
        if other.layer == "audit" and view.name in {member.name for member in catalog.lineage([other.name])}
    ]
    faults = []
    if view.layer in AUDITS_EXPECTED and not reading:
        faults.append("no audit reads it, itself or through other views")
    for spec in specs():
        if spec.view == view.name:
            faults += [
                f"the leakage check {check} of {spec.name} is missing"
                for check, audit in audits_of(catalog, spec).items()
                if audit is None
            ]
    present = inputs(home)
    able = computable(catalog.lineage([view.name, *(other.name for other in reading)]), present)
    if view.name not in able:
        lacking = [
            name
            for member in catalog.lineage([view.name])
            for name in catalog.inputs(member)
            if name not in present
        ]
        faults.append(
            f"it cannot be run on {home.path}: found nothing loaded for {', '.join(dict.fromkeys(lacking))}"
        )
        return (), faults
    ready = [other for other in reading if other.name in able]
    faults += [
        f"audit {other.name}: not run, what it reads is not loaded"
        for other in reading
        if other.name not in able
        and view.name in other.reads
        and not any(name.startswith(f"{SCHEMA}.") and name not in present for name in other.reads)
    ]
    try:
        con = open_variant(home, catalog, Variant(), [view.name, *(other.name for other in ready)])
        faults += _repeated_grain(con, view)
        leaks = declared_leaks()
        for other in ready:
            ((rows,),) = con.execute(f"SELECT count(*) FROM {other.name}").fetchall()
            if rows and other.name not in leaks:
                faults.append(f"audit {other.name}: {rows:,} rows")
    except LeadhouseError as error:
        faults.append(f"it cannot be run on {home.path}: {error}")
    return tuple(other.name for other in ready), faults


def _repeated_grain(con: duckdb.DuckDBPyConnection, view: View) -> list[str]:
    if not view.grain:
        return []
    keys = ", ".join(view.grain)
    holes = " OR ".join(f"{key} IS NULL" for key in view.grain)
    ((repeated, empty),) = con.execute(
        f"SELECT count(*) - count(DISTINCT ({keys})), count(*) FILTER ({holes}) FROM {view.name}"
    ).fetchall()
    faults = [f"its grain {keys} is not unique: {repeated:,} rows too many"] if repeated else []
    return [*faults, *([f"its grain {keys} is NULL in {empty:,} rows"] if empty else [])]
