-- vitaldb.annotation_gap v0
-- layer: evidence
-- grain: case_id, row_no
-- shard: case_id
-- stored: yes
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, segments.max_annotation_gap_s; deviation not_scored
--
-- Stretches of more than 10 s without an annotation row. row_no is the row that ends the gap.
--
-- Chosen: the distance between consecutive rows of any kind, not only between beats (beats alone take 15
-- abnormal segments). Exactly 10 s is no gap: stamps lie on a lattice of 1/360 s, and the difference of two of
-- them as floats can miss 10 in the last bit, so it is rounded to the microsecond.

WITH params AS (
    SELECT 10 AS max_annotation_gap_s
)

, stepped AS (
    SELECT
        case_id
        , row_no
        , time_s
        , lag(time_s) OVER (PARTITION BY case_id ORDER BY row_no) AS before_s
    FROM vitaldb.annotation_v0
)

SELECT
    stepped.case_id
    , stepped.row_no
    , stepped.before_s AS from_s
    , stepped.time_s AS to_s
FROM stepped
CROSS JOIN params
WHERE round(stepped.time_s - stepped.before_s, 6) > params.max_annotation_gap_s
