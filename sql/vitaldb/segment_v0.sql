-- vitaldb.segment v0
-- layer: staging
-- grain: case_id, start_s
-- shard: case_id
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, segments.grid_s; deviation segments
--
-- The 5-second grid: every [start_s, start_s + 5) from the segment of a case's first annotation row to that of
-- its last, whether a row lies in it or not. Starts are multiples of 5 s on the clock of the recording.
--
-- Chosen: the partial segments at both ends are kept when their rows decide (dropping them takes 315 abnormal
-- segments from the real files; the normal rule refuses them by itself).

WITH params AS (
    SELECT 5 AS grid_s
)

, extent AS (
    SELECT
        case_id
        , min(start_s) AS first_s
        , max(start_s) AS last_s
    FROM vitaldb.annotation_v0
    GROUP BY case_id
)

SELECT
    extent.case_id
    , CAST(step.start_s AS INTEGER) AS start_s
    , params.grid_s AS duration_s
FROM extent
CROSS JOIN params
CROSS JOIN range(extent.first_s, extent.last_s + 1, params.grid_s) AS step (start_s)
