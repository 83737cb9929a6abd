-- vitaldb.normal_context v2
-- layer: evidence
-- grain: case_id, run_no
-- shard: case_id
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, label.normal_context_s, segments.max_annotation_gap_s; read otherwise
--
-- Uninterrupted runs of normal sinus rhythm without a premature beat, as the short description can be read ("45 s of
-- uninterrupted normal sinus rhythm without premature beats"). In v0 a premature beat costs its own segment alone.
--
-- A run ends at a premature beat, at a row of any other rhythm, at a row without a rhythm, and at an annotation gap;
-- run_no is the row that begins it. On the real files -6,220 normal segments against v0, no abnormal one more or less;
-- together with v1's reading of rows without a rhythm it would be -4,390.
--
-- What is premature map.vitaldb_beat says (S and V). Not stored, since no label reads it yet.

WITH params AS (
    SELECT
        45 AS normal_context_s
        , 10 AS max_annotation_gap_s
)

, normal AS (
    SELECT
        case_id
        , row_no
        , time_s
        , lag(row_no) OVER by_row AS before_row_no
        , lag(time_s) OVER by_row AS before_s
        , lead(row_no) OVER by_row AS after_row_no
        , lead(time_s) OVER by_row AS after_s
    FROM vitaldb.annotation_v0
    WHERE role = 'normal' AND NOT is_premature
    WINDOW by_row AS (PARTITION BY case_id ORDER BY row_no)
)

, bounds AS (
    SELECT
        normal.case_id
        , normal.row_no
        , normal.time_s
        , coalesce(
            normal.row_no - normal.before_row_no > 1
            OR round(normal.time_s - normal.before_s, 6) > params.max_annotation_gap_s
            , TRUE
        ) AS begins
        , coalesce(
            normal.after_row_no - normal.row_no > 1
            OR round(normal.after_s - normal.time_s, 6) > params.max_annotation_gap_s
            , TRUE
        ) AS ends
    FROM normal
    CROSS JOIN params
)

, begins AS (
    SELECT
        case_id
        , row_no
        , time_s
        , row_number() OVER (PARTITION BY case_id ORDER BY row_no) AS place
    FROM bounds
    WHERE begins
)

, ends AS (
    SELECT
        case_id
        , row_no
        , time_s
        , row_number() OVER (PARTITION BY case_id ORDER BY row_no) AS place
    FROM bounds
    WHERE ends
)

, runs AS (
    SELECT
        begins.case_id
        , begins.row_no AS run_no
        , ends.row_no AS last_row_no
        , begins.time_s AS from_s
        , ends.time_s AS to_s
    FROM begins
    INNER JOIN ends ON begins.case_id = ends.case_id AND begins.place = ends.place
)

SELECT
    runs.case_id
    , runs.run_no
    , runs.last_row_no
    , runs.from_s
    , runs.to_s
    , round(runs.to_s - runs.from_s, 6) >= params.normal_context_s AS accepted
    , CASE WHEN round(runs.to_s - runs.from_s, 6) < params.normal_context_s THEN 'short_run' END AS reason
FROM runs
CROSS JOIN params
