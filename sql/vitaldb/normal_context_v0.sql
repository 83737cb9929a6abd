-- vitaldb.normal_context v0
-- layer: evidence
-- grain: case_id, run_no
-- shard: case_id
-- stored: yes
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, label.normal_context_s, segments.max_annotation_gap_s; deviation normal_context
--
-- Uninterrupted runs of normal sinus rhythm; accepted are those that last long enough to call a segment inside
-- them normal. run_no is the row that begins the run.
--
-- A run ends at a row of any other rhythm, at a row without a rhythm, and at an annotation gap.
--
-- Chosen, with the effect of the other reading on the real files:
--   a gap ends a run                                   (else +7 normal segments)
--   a row without a rhythm ends a run, beat or not     (only beats: +2,002; never: +2,337)
--   a premature beat does not end a run                (else -6,220): the protocol omits the segment that holds it
--   a run of exactly 45 s is long enough

WITH params AS (
    SELECT
        45 AS normal_context_s
        , 10 AS max_annotation_gap_s
)

, neighbours AS (
    SELECT
        case_id
        , row_no
        , time_s
        , coalesce(role = 'normal', FALSE) AS is_normal
        , lag(coalesce(role = 'normal', FALSE)) OVER (PARTITION BY case_id ORDER BY row_no) AS was_normal
        , lag(time_s) OVER (PARTITION BY case_id ORDER BY row_no) AS before_s
    FROM vitaldb.annotation_v0
)

, begun AS (
    SELECT
        neighbours.case_id
        , neighbours.row_no
        , neighbours.time_s
        , max(
            CASE
                WHEN NOT coalesce(neighbours.was_normal, FALSE) THEN neighbours.row_no
                WHEN neighbours.time_s - neighbours.before_s > params.max_annotation_gap_s THEN neighbours.row_no
            END
        ) OVER (PARTITION BY neighbours.case_id ORDER BY neighbours.row_no) AS run_no
    FROM neighbours
    CROSS JOIN params
    WHERE neighbours.is_normal
)

, runs AS (
    SELECT
        case_id
        , run_no
        , max(row_no) AS last_row_no
        , min(time_s) AS from_s
        , max(time_s) AS to_s
    FROM begun
    GROUP BY case_id, run_no
)

SELECT
    runs.case_id
    , runs.run_no
    , runs.last_row_no
    , runs.from_s
    , runs.to_s
    , runs.to_s - runs.from_s >= params.normal_context_s AS accepted
    , CASE WHEN runs.to_s - runs.from_s < params.normal_context_s THEN 'short_run' END AS reason
FROM runs
CROSS JOIN params
