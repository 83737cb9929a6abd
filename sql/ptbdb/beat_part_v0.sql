-- ptbdb.beat_part v0
-- layer: evidence
-- grain: record_id, peak_no
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@0, split.seed, split.test_fraction, split.validation_fraction
--
-- Parts of the accepted segments drawn by beat, class by class: in the order of sha256 over seed, record and peak, the
-- first fifth tests, the next tenth validates. A hash stands for a draw, so a release that grows moves few beats.

WITH params AS (
    SELECT
        20261031 AS seed
        , 0.2 AS test_fraction
        , 0.1 AS validation_fraction
)

, classes AS (
    SELECT
        record_id
        , min(class) AS class
    FROM ptbdb.diagnosis_v0
    WHERE accepted
    GROUP BY record_id
    HAVING count(DISTINCT class) = 1
)

, ordered AS (
    SELECT
        segment.record_id
        , segment.peak_no
        , row_number() OVER (
            PARTITION BY classes.class
            ORDER BY sha256(params.seed || ':' || segment.record_id || ':' || segment.peak_no)
        ) - 1 AS draw_no
        , count(*) OVER (PARTITION BY classes.class) AS beats
    FROM ptbdb.segment_v0 AS segment
    CROSS JOIN params
    INNER JOIN classes ON segment.record_id = classes.record_id
    WHERE segment.accepted
)

SELECT
    ordered.record_id
    , ordered.peak_no
    , CASE
        WHEN ordered.draw_no < floor(params.test_fraction * ordered.beats) THEN 'test'
        WHEN ordered.draw_no < floor((params.test_fraction + params.validation_fraction) * ordered.beats)
            THEN 'validation'
        ELSE 'train'
    END AS part
FROM ordered
CROSS JOIN params
