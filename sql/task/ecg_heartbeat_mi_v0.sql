-- task.ecg_heartbeat_mi v0
-- layer: task
-- grain: record_id, peak_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-mi@0, classes, segments, split; deviations segments, split, patients
--
-- Heartbeats of lead II of the PTB database, of people with an infarction against healthy controls, in parts drawn by
-- beat as in the paper: beats of one patient lie on both sides, and the spec declares that leak.
--
-- A row a maximum that could begin a segment. left_out says why it has none, or why its record is of neither class.
-- group_from is 'record' where nobody names the patient: then the record is a group of its own.

SELECT
    segment.record_id || '_' || segment.peak_no AS instance_id
    , segment.record_id
    , label.patient_id AS group_id
    , part.part
    , CAST(NULL AS INTEGER) AS fold
    , label.class IS NOT NULL AS scored
    , coalesce(label.reason, segment.reason) AS left_out
    , segment.peak_no
    , segment.begin_sample AS sample
    , segment.end_sample
    , segment.step
    , segment.length
    , segment.channel
    , segment.lead
    , label.class = 'healthy' AS healthy
    , label.class = 'MI' AS "MI"
    , label.class
    , label.admission
    , label.patient_from AS group_from
FROM ptbdb.segment_v0 AS segment
INNER JOIN ptbdb.record_label_v0 AS label ON segment.record_id = label.record_id
LEFT JOIN ptbdb.beat_part_v0 AS part ON segment.record_id = part.record_id AND segment.peak_no = part.peak_no
