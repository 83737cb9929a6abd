"""What `why` names is sufficient and necessary, for every instance: read through the task's why view.

The views between the evidence and the task are run again over altered evidence. A class is lost when the rows that are
named for it are taken away, and stays when only they are kept. A class that an instance has not is given when the
nearest candidate and what excludes it are accepted, or there is no candidate of it in the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from warehouse.query import connect
from warehouse.spec import Spec, find_spec
from warehouse.views import Catalog
from warehouse.why_view import why_view


@dataclass(frozen=True)
class Subject:
    """A task with its evidence; ``name`` is how a row of it is called in the why view, in SQL, ``joined`` the task's
    instances that it is of."""

    task: str
    evidence: str
    name: str
    joined: str
    homes: tuple[str, ...]

    @property
    def spec(self) -> Spec:
        return find_spec(self.task)


VITALDB = Subject(
    "vitaldb-arrhythmia-abnormal@0",
    "vitaldb.segment_evidence_v0",
    "fact.kind || ' ' || fact.rule || ' ' || fact.source_no",
    "fact.case_id = task.record_id AND fact.start_s = task.start_s",
    ("real_home", "signal_home"),
)
LYDUS = Subject(
    "lydus-ecg-image@0",
    "lydus.class_evidence_v0",
    "concat_ws(' ', fact.kind, fact.rule, fact.class, fact.source_no, fact.place, fact.value)",
    "fact.record_id = task.record_id",
    ("lydus_home",),
)
PTBXL = Subject(
    "cinc2024-ptbxl-image@0",
    "ptbxl.class_evidence_v0",
    "concat_ws(' ', fact.kind, fact.rule, fact.class, fact.value)",
    "fact.ecg_id = task.record_id",
    ("ptbxl_home",),
)
PTBDB = Subject(
    "ecg-heartbeat-mi@1",
    "ptbdb.diagnosis_v0",
    "CASE WHEN fact.accepted OR task.scored THEN 'candidate' ELSE 'left_out' END || ' diagnosis ' || fact.row_no",
    "fact.record_id = task.record_id",
    ("heartbeat_home",),
)
MITBIH = Subject(
    "ecg-heartbeat-arrhythmia@0",
    "mitbih.beat_v0",
    "'candidate symbol ' || fact.symbol",
    "fact.record_id = task.record_id AND fact.row_no = task.row_no",
    ("heartbeat_home", "mitdb_home"),
)
SUBJECTS = [VITALDB, LYDUS, PTBXL, PTBDB, MITBIH]
CASES = [(subject, home) for subject in SUBJECTS for home in subject.homes]


class Built:
    """A built home with tables ``why``, ``keyed`` (evidence with the name of each row), ``label`` (instance, class),
    ``nearest``, and the views between evidence and task, to be run over other evidence."""

    def __init__(self, subject: Subject, home) -> None:
        self.subject, self.con, spec = subject, connect(home), subject.spec
        catalog = Catalog.read()
        read = {subject.evidence}
        self.between = []
        for view in catalog.lineage([spec.view]):
            if read & set(view.reads):
                read.add(view.name)
                self.between.append(view)
        self.con.execute(f"CREATE TABLE why AS SELECT * FROM {why_view(spec)}")
        self.con.execute(f"CREATE TABLE fact AS SELECT * FROM {subject.evidence}")
        self.columns = [name for name, *_ in self.con.execute("DESCRIBE fact").fetchall()]
        self.con.execute(
            f"""CREATE TABLE keyed AS SELECT fact.*, task.instance_id, {subject.name} AS evidence
            FROM fact INNER JOIN {spec.view} AS task ON {subject.joined}"""
        )
        self.con.execute(f"CREATE TABLE label AS {self.labels()}")
        self.classes = [name for (name,) in self.rows("SELECT DISTINCT class FROM label ORDER BY class")]
        self.con.execute(
            """CREATE TABLE nearest AS SELECT instance_id, class, evidence FROM (
                SELECT why.*, row_number() OVER (
                    PARTITION BY why.instance_id, why.class
                    ORDER BY coalesce(length(reason) - length(replace(reason, ' + ', '  ')) + 1, 0), source_no, evidence
                ) AS turn
                FROM why LEFT JOIN label ON why.instance_id = label.instance_id AND why.class = label.class
                WHERE kind = 'candidate' AND why.class IS NOT NULL AND label.class IS NULL
            ) WHERE turn = 1"""
        )

    def rows(self, query: str) -> list[tuple]:
        return self.con.execute(query).fetchall()

    def labels(self) -> str:
        """instance_id and class, a row a class that an instance has; the other class of a binary task too."""
        spec = self.subject.spec
        parts = [
            f"SELECT instance_id, '{name}' AS class FROM {spec.view} WHERE \"{name}\""
            for name in spec.classes
        ]
        if spec.data["kind"] == "binary":
            (name,) = spec.classes
            parts.append(f"SELECT instance_id, 'normal' AS class FROM {spec.view} WHERE NOT \"{name}\"")
        return " UNION ALL ".join(parts)

    def relabel(self, altered: str) -> None:
        """Table ``relabelled``, as ``label``, over other evidence."""
        self.con.execute(f"CREATE OR REPLACE TABLE altered AS {altered}")
        self.con.execute(f"CREATE OR REPLACE VIEW {self.subject.evidence} AS SELECT * FROM altered")
        for view in self.between:
            self.con.execute(f"CREATE OR REPLACE VIEW {view.name} AS {view.sql}")
        self.con.execute(f"CREATE OR REPLACE TABLE relabelled AS {self.labels()}")

    def facts(self, condition: str, columns: str | None = None) -> str:
        """A SELECT of evidence rows, each once."""
        listed = columns or ", ".join(f'keyed."{name}"' for name in self.columns)
        return f"SELECT DISTINCT {listed} FROM keyed WHERE {condition}"


NAMED = """EXISTS (
    SELECT 1 FROM why INNER JOIN label ON why.instance_id = label.instance_id AND why.class = label.class
    WHERE why.instance_id = keyed.instance_id AND why.evidence = keyed.evidence
        AND why.kind = 'candidate' AND why.accepted AND why.class IN ({classes})
)"""
"""The rows that are named for the classes which an instance has."""


@pytest.fixture(scope="module", params=CASES, ids=[f"{subject.task}-{home}" for subject, home in CASES])
def built(request) -> Built:
    subject, home = request.param
    return Built(subject, request.getfixturevalue(home))


def groups(built: Built, names: list[str]) -> list[list[str]]:
    """Classes to alter at once: all, but one by one where a class takes the place of another."""
    return [[name] for name in names] if built.subject.spec.data["kind"] == "binary" else [names]


def quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def test_rows_of_the_why_view_are_the_evidence_one_to_one(built):
    """No row is lost by a join, none is doubled, and each says what its evidence says."""
    own = {"class", "accepted", "reason", "kind", "rule", "value", "source_no"} & set(built.columns)
    listed = ", ".join(["instance_id", "evidence", *sorted(own)])
    view = f"(SELECT * FROM why WHERE view = '{built.subject.evidence}' AND rule <> 'no_candidate')"
    for one, other in ((view, "keyed"), ("keyed", view)):
        assert built.rows(f"SELECT {listed} FROM {one} EXCEPT ALL SELECT {listed} FROM {other} LIMIT 3") == []
    assert built.rows("SELECT count(*) > 0 FROM keyed") == [(True,)]


def test_every_class_of_the_task_is_tested(built):
    wanted = set(built.subject.spec.classes) | ({"normal"} if built.subject is VITALDB else set())
    if built.subject is PTBXL:
        wanted -= {"Acute MI"}  # without 12SL statements there is none
    assert set(built.classes) == wanted


def test_a_class_is_lost_without_the_rows_that_are_named_for_it(built):
    for names in groups(built, built.classes):
        built.relabel(built.facts("NOT " + NAMED.format(classes=quoted(names))))
        left = f"SELECT instance_id, class FROM relabelled WHERE class IN ({quoted(names)}) LIMIT 3"
        assert built.rows(left) == [], names


def test_a_class_stays_with_nothing_but_the_rows_that_are_named_for_it(built):
    for names in groups(built, built.classes):
        built.relabel(built.facts(NAMED.format(classes=quoted(names))))
        given = f"SELECT instance_id, class FROM label WHERE class IN ({quoted(names)})"
        assert built.rows(f"{given} EXCEPT SELECT * FROM relabelled LIMIT 3") == [], names
        assert built.rows(f"SELECT * FROM relabelled EXCEPT ({given}) LIMIT 3") == [], names


def test_accepting_what_is_named_gives_a_class_that_is_not_there(built):
    """The nearest candidate and the exclusions of its class, and nothing else; without one, no candidate exists."""
    nearest = [name for (name,) in built.rows("SELECT DISTINCT class FROM nearest ORDER BY class")]
    silent = """SELECT instance_id, class FROM why WHERE kind = 'candidate' AND class IS NOT NULL
        EXCEPT (SELECT * FROM label UNION SELECT instance_id, class FROM nearest) LIMIT 3"""
    assert built.rows(silent) == []
    accepted = {"accepted": "TRUE AS accepted", "reason": "CAST(NULL AS VARCHAR) AS reason"}
    columns = ", ".join(accepted.get(column, f'keyed."{column}"') for column in built.columns)
    for names in groups(built, nearest) if nearest else []:
        assert set(accepted) <= set(built.columns)
        named = f"""EXISTS (
            SELECT 1 FROM nearest INNER JOIN why ON nearest.instance_id = why.instance_id
            WHERE nearest.class IN ({quoted(names)})
                AND why.instance_id = keyed.instance_id AND why.evidence = keyed.evidence
                AND (why.evidence = nearest.evidence
                    OR why.kind = 'exclusion' AND why.class IN (nearest.class, 'any')))"""
        built.relabel(built.facts(named, columns))
        wanted = f"SELECT instance_id, class FROM nearest WHERE class IN ({quoted(names)})"
        assert built.rows(f"{wanted} EXCEPT SELECT * FROM relabelled LIMIT 3") == [], names
        assert built.rows(f"SELECT * FROM relabelled EXCEPT ({wanted}) LIMIT 3") == [], names


def test_a_class_that_is_not_there_has_a_reason_or_no_candidate(built):
    """Its nearest candidate is refused, or something excludes the class."""
    unexplained = """SELECT nearest.* FROM nearest
        INNER JOIN why ON nearest.instance_id = why.instance_id AND nearest.evidence = why.evidence
        WHERE why.accepted AND NOT EXISTS (
            SELECT 1 FROM why AS exclusion WHERE exclusion.instance_id = nearest.instance_id
                AND exclusion.kind = 'exclusion' AND exclusion.class IN (nearest.class, 'any'))"""
    assert built.rows(unexplained) == []
