"""The queries of the book, as a reader can run them with ``leadhouse sql``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.database import sql_text

if TYPE_CHECKING:
    from warehouse.spec import Spec

PARTS = """
    SELECT
        coalesce(part, 'unassigned') AS part
        , count(DISTINCT group_id) AS groups
        , count(DISTINCT record_id) AS sources
        , count(*) FILTER (left_out IS NULL AND scored) AS scored
        , count(*) FILTER (left_out IS NULL AND NOT scored) AS unlabelled
        , count(*) FILTER (left_out IS NULL) AS used
        , count(*) FILTER (left_out IS NOT NULL) AS left_out
    FROM {view}
    GROUP BY part
    ORDER BY list_position(['train', 'validation', 'test'], part) NULLS LAST
"""

TOTAL = """
    SELECT
        count(*) AS instances
        , count(DISTINCT record_id) AS sources
        , count(DISTINCT group_id) AS groups
        , count(*) FILTER (left_out IS NULL) AS used
        , count(*) FILTER (left_out IS NULL AND scored) AS scored
        , count(*) FILTER (left_out IS NOT NULL) AS left_out
    FROM {view}
"""

LEFT_OUT = """
    SELECT
        left_out AS reason
        , count(*) FILTER (part = 'train') AS train
        , count(*) FILTER (part = 'validation') AS validation
        , count(*) FILTER (part = 'test') AS test
        , count(*) FILTER (part IS NULL) AS unassigned
        , count(*) AS instances
    FROM {view}
    WHERE left_out IS NOT NULL
    GROUP BY left_out
    ORDER BY instances DESC, reason
"""

REFUSED = """
    SELECT
        class
        , rule
        , reason
        , count(DISTINCT instance_id) AS instances
        , count(*) AS evidence
    FROM {why}
    WHERE reason IS NOT NULL
    GROUP BY ALL
    ORDER BY instances DESC, class, rule, reason
"""

ACCEPTED = """
    SELECT
        class
        , rule
        , count(DISTINCT instance_id) AS instances
        , count(*) AS evidence
    FROM {why}
    WHERE accepted
    GROUP BY ALL
    ORDER BY instances DESC, class, rule
"""

WHY = """
    SELECT
        instance_id
        , kind
        , class
        , accepted
        , reason
        , view
        , words
    FROM {why}
    WHERE instance_id IN ({instances})
    ORDER BY instance_id, accepted DESC, kind, class, rule, source_no, words
"""

AGREEMENT = """
    WITH beside AS (
        SELECT
            verdict.class
            , verdict.reader
            , verdict.reader_says
            , verdict.label_seen
            , CASE verdict.class {cases} END AS label_now
        FROM {verdicts} AS verdict
        LEFT JOIN {view} AS task ON verdict.instance_id = task.instance_id
        WHERE verdict.task = {task} AND verdict.accepted
    )

    , cells AS (
        SELECT
            class
            , reader
            , count(*) FILTER (label_now IS NOT NULL) AS n
            , count(*) FILTER (reader_says AND label_now) AS both_say_yes
            , count(*) FILTER (NOT reader_says AND label_now) AS label_only
            , count(*) FILTER (reader_says AND NOT label_now) AS reader_only
            , count(*) FILTER (NOT reader_says AND NOT label_now) AS both_say_no
            , count(*) FILTER (label_now <> label_seen) AS label_changed
            , count(*) FILTER (label_now IS NULL) AS no_label
        FROM beside
        GROUP BY class, reader
    )

    , chance AS (
        SELECT
            *
            , (both_say_yes + both_say_no) / n AS observed
            , (
                (both_say_yes + label_only) * (both_say_yes + reader_only)
                + (both_say_no + label_only) * (both_say_no + reader_only)
            ) / (n * n) AS expected
        FROM cells
    )

    SELECT
        class
        , reader
        , n
        , both_say_yes
        , label_only
        , reader_only
        , both_say_no
        , CASE WHEN n > 0 AND expected < 1 THEN (observed - expected) / (1 - expected) END AS kappa
        , label_changed
        , no_label
    FROM chance
    ORDER BY class, reader
"""


def agreement_query(spec: Spec, verdicts: str) -> str:
    """Readers' verdicts against today's label, a row a class and reader, as `agreement` counts them."""
    cases = " ".join(f'WHEN {sql_text(name)} THEN task."{name}"' for name in spec.classes)
    return AGREEMENT.format(cases=cases, verdicts=verdicts, view=spec.view, task=sql_text(spec.name))


def maps_query(names: list[str]) -> str:
    """The rows of every map, in the order of names."""
    rows = [
        f"SELECT {place} AS place, {sql_text(f'map.{name}')} AS map, count(*) AS rows FROM map.{name}"
        for place, name in enumerate(names)
    ]
    return "\nUNION ALL\n".join(rows) + "\nORDER BY place"


def class_columns(spec: Spec) -> list[tuple[str, str]]:
    """Names of what can be counted, with a condition on the task view ``{table}``; a binary task's other side too."""
    columns = [(name, f'{{table}}."{name}"') for name in spec.classes]
    if spec.data["kind"] == "binary":
        columns.append((f"not {spec.classes[0]}", f'NOT {{table}}."{spec.classes[0]}"'))
    return columns


def classes_query(spec: Spec) -> str:
    """A row a class, its used instances in each part."""
    rows = []
    for place, (name, condition) in enumerate(class_columns(spec)):
        has = f"task.left_out IS NULL AND {condition.format(table='task')}"
        parts = "".join(
            f"    , count(*) FILTER ({has} AND task.part = '{part}') AS {part}\n"
            for part in ("train", "validation", "test")
        )
        rows.append(
            f"SELECT\n    {place} AS place\n    , {sql_text(name)} AS class\n{parts}"
            f"    , count(*) FILTER ({has}) AS instances\n"
            f"    , count(DISTINCT CASE WHEN {has} THEN task.group_id END) AS groups\n"
            f"FROM {spec.view} AS task"
        )
    return "\n\nUNION ALL\n".join(rows) + "\nORDER BY place"


def choice_query(spec: Spec, signal: str | None) -> str:
    """For every class the used instance whose id has the smallest sha256; one with a signal goes first."""
    rows = []
    has_signal = "signal.record_id IS NOT NULL" if signal else "FALSE"
    join = (
        f"\nLEFT JOIN (SELECT DISTINCT record_id FROM {signal}) AS signal"
        "\n    ON CAST(task.record_id AS VARCHAR) = CAST(signal.record_id AS VARCHAR)"
        if signal
        else ""
    )
    kinds = [*class_columns(spec), ("no class", "NOT {table}.scored")]
    for place, (name, condition) in enumerate(kinds):
        rows.append(
            f"(SELECT\n    {place} AS place\n    , {sql_text(name)} AS class\n    , task.instance_id\n"
            f"    , task.part\n    , {has_signal} AS has_signal\n    , count(*) OVER () AS alike\n"
            f"FROM {spec.view} AS task{join}\n"
            f"WHERE task.left_out IS NULL AND {condition.format(table='task')}\n"
            f"ORDER BY {has_signal} DESC, sha256(task.instance_id)\nLIMIT 1)"
        )
    return "\n\nUNION ALL\n".join(rows) + "\nORDER BY place"


def leaderboard_query(lines: list[dict]) -> str | None:
    """The numbers of a leaderboard from the run records, in a DuckDB shell that was opened in the data home."""
    rows = []
    for place, line in enumerate(line for line in lines if line["broken"] is None):
        path = f"$.metrics.{line['metric']}"
        rows.append(
            f"SELECT\n    {place} AS place\n    , {sql_text(line['run'])} AS run\n"
            + "".join(
                f"    , CAST(json_extract(content, '{path}.{key}') AS DOUBLE) AS {key}\n"
                for key in ("value", "lo", "hi")
            )
            + "    , CAST(json_extract(content, '$.rows.used') AS BIGINT) AS rows\n"
            "    , CAST(json_extract(content, '$.groups.n') AS BIGINT) AS groups\n"
            f"FROM read_text({sql_text('runs/' + line['run'] + '/score.json')})"
        )
    return "\n\nUNION ALL\n".join(rows) + "\nORDER BY place" if rows else None
