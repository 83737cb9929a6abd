-- task.vitaldb_arrhythmia_abnormal v0
-- layer: task
-- grain: record_id, start_s
-- shard: case_id
-- stored: yes
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0; deviations split, bad_signal_quality
--
-- Every 5 seconds of a case are a segment. It is abnormal when a rhythm other than normal sinus rhythm is annotated
-- in it, and normal only inside at least 45 s of uninterrupted normal sinus rhythm and without a premature beat of
-- its own. Every other segment has no label, and a reason why.
--
-- left_out: a segment flagged for bad signal quality is not used in the test part and stays, with its flag, in
-- train and validation; a case whose subject is unknown has no part ('no_subject').
-- rhythms are those behind the label. ecg and clock say 'not checked' where no signal is loaded; clock 'beyond'
-- marks cases whose annotations and waveform disagree in time (audit vitaldb.clock_beyond_tolerance).

SELECT
    label.case_id || '_' || label.start_s AS instance_id
    , label.case_id AS record_id
    , record.subject_id AS group_id
    , record.part
    , CAST(NULL AS INTEGER) AS fold
    , label.label IS NOT NULL AS scored
    , CASE
        WHEN record.part IS NULL THEN 'no_subject'
        WHEN record.part = 'test' AND label.bad_signal_quality THEN 'bad_signal_quality'
    END AS left_out
    , label.start_s
    , label.duration_s
    , label.label = 'abnormal' AS abnormal
    , label.reason
    , label.rhythms
    , label.bad_signal_quality
    , label.ecg
    , CASE
        WHEN clock.case_id IS NULL THEN 'not checked'
        WHEN clock.accepted THEN 'within'
        ELSE 'beyond'
    END AS clock
FROM vitaldb.segment_label_v0 AS label
INNER JOIN vitaldb.record_v0 AS record ON label.case_id = record.case_id
LEFT JOIN vitaldb.clock_offset_v0 AS clock ON label.case_id = clock.case_id
