-- vitaldb.row_outside_window v0
-- layer: audit
-- grain: case_id, row_no
-- shard: none
-- stored: no
-- status: released
-- source: metadata.csv, analysis_start_time_sec and analysis_end_time_sec; ours (tolerance_s)
--
-- Annotation rows outside the analysis window that metadata.csv states for the case.

WITH params AS (
    SELECT 0.001 AS tolerance_s
)

SELECT
    annotation.case_id
    , annotation.row_no
    , annotation.time_s
    , record.start_s
    , record.end_s
FROM vitaldb.annotation_v0 AS annotation
INNER JOIN vitaldb.record_v0 AS record ON annotation.case_id = record.case_id
CROSS JOIN params
WHERE
    annotation.time_s < record.start_s - params.tolerance_s
    OR annotation.time_s > record.end_s + params.tolerance_s
