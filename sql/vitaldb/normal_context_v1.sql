-- vitaldb.normal_context v1
-- layer: evidence
-- grain: case_id, run_no
-- shard: case_id
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, label.normal_context_s, segments.max_annotation_gap_s; read otherwise
--
-- Uninterrupted runs of normal sinus rhythm, as in v0, but that a row without a rhythm ends a run only when it is a
-- beat. Markers of bad signal quality carry no rhythm: they speak of the signal, and in v0 each of them ends the run
-- around it.
--
-- A run ends at a row of any other rhythm, at a beat without a rhythm, and at an annotation gap; run_no is the row that
-- begins it. On the real files +2,002 normal segments against v0, no abnormal one more or less.
--
-- Chosen, with the effect of the other reading on the real files:
--   a gap lies between rows that speak of rhythm or beat: silent rows do not bridge it   (any row bridges it: +3 more)
--   a premature beat does not end a run, as in v0
--
-- Not stored, since no label reads it yet.

WITH params AS (
    SELECT
        45 AS normal_context_s
        , 10 AS max_annotation_gap_s
)

, speaking AS (
    SELECT
        case_id
        , row_no
        , time_s
        , role
        , row_number() OVER (PARTITION BY case_id ORDER BY row_no) AS place
    FROM vitaldb.annotation_v0
    WHERE rhythm IS NOT NULL OR is_beat
)

, normal AS (
    SELECT
        case_id
        , row_no
        , time_s
        , place
        , lag(place) OVER by_row AS before_place
        , lag(time_s) OVER by_row AS before_s
        , lead(place) OVER by_row AS after_place
        , lead(time_s) OVER by_row AS after_s
    FROM speaking
    WHERE role = 'normal'
    WINDOW by_row AS (PARTITION BY case_id ORDER BY row_no)
)

, bounds AS (
    SELECT
        normal.case_id
        , normal.row_no
        , normal.time_s
        , coalesce(
            normal.place - normal.before_place > 1
            OR round(normal.time_s - normal.before_s, 6) > params.max_annotation_gap_s
            , TRUE
        ) AS begins
        , coalesce(
            normal.after_place - normal.place > 1
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
