-- mitbih.record v0
-- layer: staging
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: headers of the release; map.mitbih_record for patients and the inter-patient sets of de Chazal et al. 2004
--
-- One row a record with its patient. The release's own documentation names one patient for each record but 201 and
-- 202, which are of one. patient_from says where the patient is from: the 'map', or the 'record' alone where the map
-- does not know the record: then it is a group of its own.
--
-- de_chazal is the published set (201 and 202 on different sides), one_side the same with 202 moved to 201's side.

SELECT
    record.record_id
    , coalesce(CAST(known.patient AS VARCHAR), record.record_id) AS patient_id
    , CASE WHEN known.record IS NULL THEN 'record' ELSE 'map' END AS patient_from
    , record.hz
    , record.n_samples
    , record.n_signals
    , known.de_chazal
    , known.one_side
    , coalesce(known.is_validation, FALSE) AS is_validation
FROM raw_mitbih.record
LEFT JOIN map.mitbih_record AS known ON record.record_id = CAST(known.record AS VARCHAR)
