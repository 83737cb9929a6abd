-- task.ecg_heartbeat_mi_patient_in_two_parts v0
-- layer: audit
-- grain: group_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@0, split
--
-- Patients with beats in more than one part, and how many of those are tested. A leak that the spec declares passes.

SELECT
    group_id
    , count(DISTINCT part) AS parts
    , count(*) AS beats
    , count(CASE WHEN part = 'test' THEN 1 END) AS test_beats
FROM task.ecg_heartbeat_mi_v0
WHERE left_out IS NULL AND part IS NOT NULL
GROUP BY group_id
HAVING count(DISTINCT part) > 1
