"""Every task has a why view with the columns of the contract, and its instances are exactly the task's."""

from __future__ import annotations

import pytest
from sql_cases import table_columns, views_of

from warehouse.maps import map_column
from warehouse.query import connect
from warehouse.spec import Spec, specs
from warehouse.views import Catalog
from warehouse.why_view import CONTRACT, KINDS, why_view

SPECS = specs()
NAMES = [spec.name for spec in SPECS]
HOMES = ("signal_home", "real_home", "lydus_home", "ptbxl_home", "heartbeat_home", "mitdb_home")
MEANINGS = (
    "lydus_reason",
    "mitbih_reason",
    "ptbdb_reason",
    "ptbxl_reason",
    "vitaldb_left_out",
    "vitaldb_reason",
)


@pytest.mark.parametrize("spec", SPECS, ids=NAMES)
def test_every_task_has_a_why_view(spec: Spec):
    view = Catalog.read()[why_view(spec)]
    assert (view.layer, view.stored, view.grain) == ("report", False, ("instance_id", "evidence"))
    assert spec.name in view.source
    columns = dict(table_columns()[view.name])
    assert tuple(columns)[: len(CONTRACT)] == tuple(CONTRACT), (
        "the contract's columns come first, in its order"
    )
    record_id = dict(table_columns()[spec.view])["record_id"]
    wanted = {name: kind or record_id for name, kind in CONTRACT.items()}
    assert {name: columns[name] for name in CONTRACT} == wanted


@pytest.mark.parametrize("home", HOMES)
def test_rows_are_of_the_tasks_instances_and_every_instance_has_one(request, home):
    home = request.getfixturevalue(home)
    able = {view.name for view in views_of(home)}
    tasks = [spec for spec in SPECS if why_view(spec) in able]
    assert tasks
    con = connect(home)
    for spec in tasks:
        con.execute(f"CREATE OR REPLACE TEMP TABLE why AS SELECT * FROM {why_view(spec)}")
        queries = {
            "instances without a row": f"SELECT instance_id FROM {spec.view} EXCEPT SELECT instance_id FROM why",
            "rows of no instance": f"""SELECT instance_id, record_id FROM why
                EXCEPT SELECT instance_id, record_id FROM {spec.view}""",
            "names twice": "SELECT instance_id, evidence FROM why GROUP BY ALL HAVING count(*) > 1",
            "without a name, a kind or words": """SELECT * FROM why WHERE evidence IS NULL OR instance_id IS NULL
                OR words IS NULL OR rule IS NULL OR view IS NULL OR source IS NULL OR source_no IS NULL""",
            "of no kind": f"SELECT * FROM why WHERE kind NOT IN {KINDS} OR kind IS NULL",
            "accepted with a reason, or refused without": """SELECT * FROM why
                WHERE accepted IS DISTINCT FROM (reason IS NULL)""",
            "an exclusion or an absence that is accepted": "SELECT * FROM why WHERE kind <> 'candidate' AND accepted",
            "a class that is left out": "SELECT * FROM why WHERE (kind = 'left_out') AND class IS NOT NULL",
            "left out without a row that says so, or the other way round": f"""
                SELECT instance_id FROM {spec.view} WHERE left_out IS NOT NULL
                EXCEPT SELECT why.instance_id FROM why INNER JOIN {spec.view} AS task
                ON why.instance_id = task.instance_id AND why.reason = task.left_out WHERE why.kind = 'left_out'""",
            "an absence of an instance that is used": f"""
                SELECT why.* FROM why INNER JOIN {spec.view} AS task ON why.instance_id = task.instance_id
                WHERE why.kind = 'left_out' AND task.left_out IS NULL""",
            "lines the wrong way round, or one alone": """SELECT * FROM why
                WHERE first_row > last_row OR (first_row IS NULL) <> (last_row IS NULL)""",
            "views that are not there": f"""SELECT DISTINCT view FROM why
                WHERE view NOT IN ({", ".join(f"'{name}'" for name in able)})""",
        }
        found = {what: con.execute(query).fetchall()[:3] for what, query in queries.items()}
        assert {what: rows for what, rows in found.items() if rows} == {}, spec.name


@pytest.mark.parametrize("name", MEANINGS)
def test_meanings_are_words_without_a_full_stop(name):
    """They stand inside sentences: in lower case, without an end of their own."""
    assert len(set(map_column(name, "reason"))) == len(map_column(name, "reason"))
    for meaning in map_column(name, "meaning"):
        assert meaning.strip() == meaning
        assert not meaning.endswith(".")
        assert meaning[0].islower() or meaning.startswith("ECG")
