-- task.ecg_heartbeat_arrhythmia v0
-- layer: task
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-arrhythmia@0, classes, segments, split; deviations segments, split, patients
--
-- Every annotated beat of MIT-BIH as one of five AAMI classes, cut as the public CSVs cut it, in parts drawn by beat
-- with the published counts. Beats of one patient lie in train and in test: the spec declares that leak.
--
-- The segment is every step-th sample of [sample, end_sample) of the channel, length of them; stages scale it and
-- bring it to 187. left_out says why a beat has none. group_id is the patient, group_from says how it is known.

SELECT
    label.record_id || '_' || label.row_no AS instance_id
    , label.record_id
    , label.patient_id AS group_id
    , split.part
    , CAST(NULL AS INTEGER) AS fold
    , label.class IS NOT NULL AS scored
    , label.reason AS left_out
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
LEFT JOIN split.mitbih AS split ON label.record_id = split.record_id AND label.row_no = split.row_no
