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
-- beats, so a model that never sees a copy can get at most (4,079 - 803) / 4,079 = 80.3 % right.

WITH params AS (
    SELECT
        819 AS literal_per_class
        , 162 AS test_per_class
)

, classes AS (
    SELECT
        class
        , count(*) AS beats
    FROM mitbih.segment_published_v0
    WHERE accepted
    GROUP BY class
)

SELECT
    classes.class
    , classes.beats
    , least(classes.beats, params.literal_per_class) AS literal_test
    , classes.beats - least(classes.beats, params.literal_per_class) AS literal_train
    , CASE WHEN classes.beats <= params.literal_per_class THEN classes.beats ELSE 0 END AS copied
    , least(classes.beats, params.test_per_class) AS our_test
FROM classes
CROSS JOIN params
