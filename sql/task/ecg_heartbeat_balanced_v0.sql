-- task.ecg_heartbeat_balanced v0
-- layer: task
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-balanced@0, split.test_per_class; deviations balance, patients
--
-- The beats and parts of task.ecg_heartbeat_arrhythmia, with as many test beats of every class: the first of each
-- class in the order of the draw. They were held out before anything can be augmented, so no copy of a test beat is
-- trained on. Test beats beyond that number are left out ('beyond_balance'); train and validation stay as they are.
--
-- The paper's own 4,079 test beats cannot be had like this: see mitbih.literal_balance.

WITH params AS (
    SELECT 162 AS test_per_class
)

SELECT
    beat.instance_id
    , beat.record_id
    , beat.group_id
    , beat.part
    , beat.fold
    , beat.scored
    , coalesce(
        beat.left_out, CASE WHEN beat.part = 'test' AND split.draw_no >= params.test_per_class THEN 'beyond_balance' END
    ) AS left_out
    , beat.row_no
    , beat.sample
    , beat.end_sample
    , beat.step
    , beat.length
    , beat.channel
    , beat.lead
    , beat."N"
    , beat."S"
    , beat."V"
    , beat."F"
    , beat."Q"
    , beat.class
    , beat.symbol
    , beat.rhythm
    , beat.is_paced
    , beat.group_from
FROM task.ecg_heartbeat_arrhythmia_v0 AS beat
CROSS JOIN params
LEFT JOIN split.mitbih AS split ON beat.record_id = split.record_id AND beat.row_no = split.row_no
