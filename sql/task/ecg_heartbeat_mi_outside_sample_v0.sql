-- task.ecg_heartbeat_mi_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@0, split.by
--
-- Heartbeats in another part than the one drawn for their beat, or in one although none is drawn.

SELECT
    task.instance_id
    , task.part
    , drawn.part AS drawn_part
FROM task.ecg_heartbeat_mi_v0 AS task
LEFT JOIN ptbdb.beat_part_v0 AS drawn ON task.record_id = drawn.record_id AND task.peak_no = drawn.peak_no
WHERE task.part IS DISTINCT FROM drawn.part
