-- task.vitaldb_arrhythmia_abnormal_subject_in_two_parts v0
-- layer: audit
-- grain: group_id
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, split.by
--
-- Patients with segments in more than one part: none may be.

SELECT
    group_id
    , count(DISTINCT part) AS parts
FROM task.vitaldb_arrhythmia_abnormal_v0
WHERE group_id IS NOT NULL
GROUP BY group_id
HAVING count(DISTINCT part) > 1
