-- task.ecg_heartbeat_interpatient v0
-- layer: task
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-interpatient@0, classes, segments, split; deviations segments, patients, validation
--
-- The same beats with the published inter-patient sets (de Chazal et al. 2004): 22 records of DS1 to learn from, 22 of
-- DS2 to test on, the four paced records left out ('paced'). Records 201 and 202 are one person and lie on different
-- sides of the published sets: the spec declares that leak, version 1 mends it. Four records of DS1 validate.

SELECT
    label.record_id || '_' || label.row_no AS instance_id
    , label.record_id
    , label.patient_id AS group_id
    , CASE
        WHEN label.de_chazal = 'DS2' THEN 'test'
        WHEN label.is_validation THEN 'validation'
        WHEN label.de_chazal = 'DS1' THEN 'train'
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
