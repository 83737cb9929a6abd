-- task.ecg_heartbeat_arrhythmia_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-arrhythmia@0, split.by
--
-- Beats that lie in another part than the split draws them into, or in one although it draws them into none.

SELECT
    task.instance_id
    , task.part
    , split.part AS drawn_part
FROM task.ecg_heartbeat_arrhythmia_v0 AS task
LEFT JOIN split.mitbih AS split ON task.record_id = split.record_id AND task.row_no = split.row_no
WHERE task.part IS DISTINCT FROM split.part
