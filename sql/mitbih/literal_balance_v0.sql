-- mitbih.literal_balance v0
-- layer: report
-- grain: class
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-balanced@0, protocol.literal_per_class, split.test_per_class; deviation balance
--
-- The paper's test part taken literally, beside ours: 819 beats of every class, or all that there are. Where that is
-- every beat of a class, nothing is left to learn it from but copies of test beats: copied counts them. Class F has 803
-- beats, so a model that never sees a copy can get at most (4,079 - 803) / 4,079 = 80.3 % right. our_test counts what
-- task.ecg_heartbeat_balanced tests on: fewer than 162 where another release has fewer test beats of a class.

WITH params AS (
    SELECT
        819 AS literal_per_class
        , 162 AS test_per_class
)

, classes AS (
    SELECT
        segment.class
        , count(*) AS beats
        , count(*) FILTER (WHERE split.part = 'test' AND split.draw_no < params.test_per_class) AS our_test
    FROM mitbih.segment_published_v0 AS segment
    CROSS JOIN params
    LEFT JOIN split.mitbih AS split ON segment.record_id = split.record_id AND segment.row_no = split.row_no
    WHERE segment.accepted
    GROUP BY segment.class
)

SELECT
    classes.class
    , classes.beats
    , least(classes.beats, params.literal_per_class) AS literal_test
    , classes.beats - least(classes.beats, params.literal_per_class) AS literal_train
    , CASE WHEN classes.beats <= params.literal_per_class THEN classes.beats ELSE 0 END AS copied
    , classes.our_test
FROM classes
CROSS JOIN params
