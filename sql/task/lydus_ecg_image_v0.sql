-- task.lydus_ecg_image v0
-- layer: task
-- grain: instance_id
-- shard: record_id
-- stored: yes
-- status: draft
-- source: lydus-ecg-image@0, label.classes, exclusions; deviations exclusions, split, records
--
-- The sampled ECGs of each part, as images to be named with every class that applies out of eleven. Sampled first,
-- then excluded: left_out says why a sampled record is not used (the first reason; all stand in lydus.exclusion).
--
-- instance_id is opaque: twelve digits of a hash that the spec fixes, so that no name of a record reaches a model. A
-- record without a class is not scored and stays in its part. flat says 'not checked' where no signal is loaded.

SELECT
    substr(sha256('lydus-ecg-image@0:' || label.record_id), 1, 12) AS instance_id
    , label.record_id
    , record.group_id
    , record.part
    , CAST(NULL AS INTEGER) AS fold
    , label.classes > 0 AS scored
    , CASE
        WHEN silent.record_id IS NOT NULL THEN 'no_analysis'
        WHEN flat.record_id IS NOT NULL THEN 'flat_signal'
    END AS left_out
    , label.afib_afl AS "AFIB/AFL"
    , label.acute_mi AS "Acute MI"
    , label.brady AS "BRADY"
    , label.cd AS "CD"
    , label.hyp AS "HYP"
    , label.norm AS "NORM"
    , label.old_mi AS "Old MI"
    , label.pac AS "PAC"
    , label.pvc AS "PVC"
    , label.sttc AS "STTC"
    , label.tachy AS "TACHY"
    , CASE
        WHEN record.flat IS NULL THEN 'not checked'
        WHEN record.flat THEN 'flat'
        ELSE 'not flat'
    END AS flat
FROM lydus.record_label_v0 AS label
INNER JOIN lydus.record_v0 AS record ON label.record_id = record.record_id
LEFT JOIN lydus.exclusion_v0 AS silent
    ON label.record_id = silent.record_id AND silent.rule = 'no_analysis' AND NOT silent.accepted
LEFT JOIN lydus.exclusion_v0 AS flat
    ON label.record_id = flat.record_id AND flat.rule = 'flat_signal' AND NOT flat.accepted
WHERE record.sampled AND record.part IS NOT NULL
