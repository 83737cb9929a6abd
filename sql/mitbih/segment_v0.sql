-- mitbih.segment v0
-- layer: evidence
-- grain: rule, record_id, row_no, candidate_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: the three segmenters; ecg-heartbeat-arrhythmia@0, segments.hz; ours (paper_hz)
--
-- The three segmenters beside each other, a row a segment that each rule would cut, so that two rules are a join on
-- record_id and row_no, the annotated beat. A detected candidate near no beat has row_no 0. length_s is the length in
-- seconds, whatever the rate (none where a rule gives no length).

WITH params AS (
    SELECT
        120 AS hz
        , 125 AS paper_hz
)

SELECT
    'published' AS rule
    , segment.record_id
    , segment.row_no
    , 0 AS candidate_no
    , segment.class
    , segment.length
    , segment.length / CAST(params.hz AS DOUBLE) AS length_s
    , segment.accepted
    , segment.reason
FROM mitbih.segment_published_v0 AS segment
CROSS JOIN params

UNION ALL
SELECT
    'paper' AS rule
    , segment.record_id
    , segment.row_no
    , 0 AS candidate_no
    , segment.class
    , segment.length
    , segment.length / CAST(params.paper_hz AS DOUBLE) AS length_s
    , segment.accepted
    , segment.reason
FROM mitbih.segment_paper_v0 AS segment
CROSS JOIN params

UNION ALL
SELECT
    'detected' AS rule
    , segment.record_id
    , coalesce(segment.row_no, 0) AS row_no
    , segment.peak_no AS candidate_no
    , segment.class
    , segment.length
    , segment.length / CAST(params.paper_hz AS DOUBLE) AS length_s
    , segment.accepted
    , segment.reason
FROM mitbih.segment_detected_v0 AS segment
CROSS JOIN params
