-- task.vitaldb_arrhythmia_abnormal_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, split.by; deviation split
--
-- Segments that lie in another part than the split gives their patient, or in one although it gives none.

SELECT
    task.instance_id
    , task.group_id
    , task.part
    , split.part AS drawn_part
FROM task.vitaldb_arrhythmia_abnormal_v0 AS task
LEFT JOIN split.vitaldb AS split ON task.group_id = split.subject_id
WHERE task.part IS DISTINCT FROM split.part
