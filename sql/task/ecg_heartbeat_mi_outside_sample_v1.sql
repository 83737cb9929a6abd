-- task.ecg_heartbeat_mi_outside_sample v1
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@1, split.by
--
-- Heartbeats in another part than the one drawn for their patient, or in one although none is drawn.

SELECT
    task.instance_id
    , task.part
    , drawn.part AS drawn_part
FROM task.ecg_heartbeat_mi_v1 AS task
LEFT JOIN ptbdb.patient_part_v0 AS drawn ON task.group_id = drawn.patient_id
WHERE task.part IS DISTINCT FROM drawn.part
