"""Every task has every leakage check that applies to it, and each finds a fault that was planted."""

from __future__ import annotations

import duckdb
import pytest

from warehouse.audit import audit, declared_leaks
from warehouse.home import Home
from warehouse.leakage import CHECKS, FORBIDDEN, audits_of, checks_of, forbidden_columns
from warehouse.query import connect
from warehouse.spec import Spec, find_spec, specs
from warehouse.views import Catalog

CATALOG = Catalog.read()
SPECS = specs()
IMAGES = [spec for spec in SPECS if FORBIDDEN in checks_of(spec)]
WAITING = ("not run", "not rendered")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_task_has_every_check_that_applies_to_it(spec: Spec):
    audits = audits_of(CATALOG, spec)
    assert {check for check, name in audits.items() if name is None} == set()
    assert set(audits) == set(checks_of(spec)) - {FORBIDDEN}


def test_what_applies_is_what_the_specs_declare():
    always = {"in_two_parts", "outside_sample"}
    images = always | {"gives_away", "drawn_by_class", FORBIDDEN}
    found = {spec.name: set(checks_of(spec)) for spec in SPECS if set(checks_of(spec)) != always}
    assert found == {"lydus-ecg-image@0": images | {"not_opaque"}, "cinc2024-ptbxl-image@0": images}
    assert set().union(*map(checks_of, SPECS)) == set(CHECKS)


def test_a_declared_leak_is_the_group_check_of_its_task():
    leaking = [spec for spec in SPECS if spec.data.get("known_leak")]
    declared = {audits_of(CATALOG, spec)["in_two_parts"] for spec in leaking}
    assert leaking
    assert declared == declared_leaks()


@pytest.mark.parametrize("name", ["synthetic_home", "lydus_home", "ptbxl_home", "heartbeat_home"])
def test_the_checks_run_and_pass(request, name):
    home: Home = request.getfixturevalue(name)
    findings = {finding.name: finding for finding in audit(home)}
    built = [spec for spec in SPECS if (home.built / CATALOG[spec.view].file).exists()]
    assert built
    for spec in built:
        for check, view in audits_of(CATALOG, spec).items():
            finding = findings[view]
            assert finding.passed or (finding.note or "").startswith(WAITING), (check, finding)
            assert finding.count is not None or check in ("gives_away", "drawn_by_class")
        if FORBIDDEN in checks_of(spec):
            assert findings[f"{spec.view}: forbidden columns"].count == 0


@pytest.mark.parametrize("spec", IMAGES, ids=lambda spec: spec.name)
def test_a_forbidden_column_is_found(spec: Spec):
    stem = spec.view.removeprefix("task.")
    con = duckdb.connect()
    con.execute("CREATE SCHEMA task; CREATE SCHEMA image")
    columns = f'instance_id VARCHAR, record_id VARCHAR, part VARCHAR, "{spec.classes[0]}" BOOLEAN'
    con.execute(f"CREATE TABLE {spec.view} ({columns})")
    con.execute(f"CREATE TABLE image.{stem} (instance_id VARCHAR, noise INTEGER)")
    assert con.execute(forbidden_columns(spec)).fetchall() == []
    never = spec.data["input"]["never"][-1].replace(" ", "_")
    con.execute(f"ALTER TABLE {spec.view} ADD COLUMN {never.upper()} INTEGER")
    con.execute(f'ALTER TABLE image.{stem} ADD COLUMN "{spec.classes[0]}" BOOLEAN')
    con.execute(f"ALTER TABLE image.{stem} ADD COLUMN record_id VARCHAR")
    assert con.execute(forbidden_columns(spec)).fetchall() == [
        (f"image.{stem}", spec.classes[0]),
        (f"image.{stem}", "record_id"),
        (spec.view, never.upper()),
    ]


def test_the_catalog_of_a_home_holds_the_task_view(lydus_home: Home):
    """Else the SELECT on the catalog would find nothing whatever is there."""
    spec = find_spec("lydus-ecg-image")
    found = connect(lydus_home).execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'task' AND table_name = ?",
        [spec.view.removeprefix("task.")],
    )
    assert {"instance_id", *spec.classes} <= {name for (name,) in found.fetchall()}
