-- ptbdb.diagnosis_unknown v0
-- layer: audit
-- grain: record_id, row_no
-- shard: none
-- stored: no
-- status: draft
-- source: map.ptbdb_admission
--
-- Reasons for admission that the map does not hold: nobody knows whether they are an infarction.

SELECT
    record_id
    , row_no
    , admission
FROM ptbdb.diagnosis_v0
WHERE reason = 'unknown_diagnosis'
