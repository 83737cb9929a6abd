-- task.ecg_heartbeat_interpatient v1
-- layer: task
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-interpatient@1, classes, segments, split; deviations segments, split, validation
--
-- The same beats as in version 0 with record 202 moved to the side of 201, which is the same person: no patient lies in
-- two parts. 53,157 beats to learn from and 47,576 to test on. Four records of DS1 validate, the four paced records are
-- left out ('paced').

SELECT
    label.record_id || '_' || label.row_no AS instance_id
    , label.record_id
    , label.patient_id AS group_id
    , CASE
        WHEN label.one_side = 'DS2' THEN 'test'
        WHEN label.is_validation THEN 'validation'
        WHEN label.one_side = 'DS1' THEN 'train'
    END AS part
    , CAST(NULL AS INTEGER) AS fold
    , label.class IS NOT NULL AS scored
    , CASE WHEN label.is_paced THEN 'paced' ELSE label.reason END AS left_out
    , label.row_no
    , label.sample
    , label.end_sample
    , label.step
    , label.length
    , label.channel
    , label.lead
    , label.class = 'N' AS "N"
    , label.class = 'S' AS "S"
    , label.class = 'V' AS "V"
    , label.class = 'F' AS "F"
    , label.class = 'Q' AS "Q"
    , label.class
    , label.symbol
    , label.rhythm
    , label.is_paced
    , label.patient_from AS group_from
FROM mitbih.beat_label_v0 AS label
