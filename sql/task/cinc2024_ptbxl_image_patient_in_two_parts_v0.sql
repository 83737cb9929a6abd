-- task.cinc2024_ptbxl_image_patient_in_two_parts v0
-- layer: audit
-- grain: group_id
-- shard: none
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0, split.by
--
-- Patients with instances in more than one part: none may be. ptbxl.patient_in_two_parts holds the same of all records.

SELECT
    group_id
    , count(DISTINCT part) AS parts
FROM task.cinc2024_ptbxl_image_v0
WHERE group_id IS NOT NULL
GROUP BY group_id
HAVING count(DISTINCT part) > 1
