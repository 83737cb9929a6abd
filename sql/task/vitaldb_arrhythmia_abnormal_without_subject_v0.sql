-- task.vitaldb_arrhythmia_abnormal_without_subject v0
-- layer: audit
-- grain: record_id
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, split.by
--
-- Cases that are in no part because their patient is unknown: load again with --subjects.

SELECT DISTINCT record_id
FROM task.vitaldb_arrhythmia_abnormal_v0
WHERE group_id IS NULL
