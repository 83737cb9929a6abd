-- ptbxl.patient_in_two_parts v0
-- layer: audit
-- grain: patient_id
-- shard: none
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0, split.by
--
-- Patients with records in more than one part: PTB-XL's folds promise that there is none.

SELECT
    patient_id
    , count(DISTINCT part) AS parts
FROM ptbxl.record_v0
GROUP BY patient_id
HAVING count(DISTINCT part) > 1
