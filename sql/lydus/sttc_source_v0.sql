-- lydus.sttc_source v0
-- layer: report
-- grain: part, sttc_group
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, counts; map.dx_code
--
-- Where STTC comes from, among the used sampled records, each counted once under its first group: 1 a finding that
-- PTB-XL keeps in its STTC superclass, 2 else T wave abnormal, 3 else another form finding.

WITH groups AS (
    SELECT
        used.part
        , used.record_id
        , min(known.sttc_group) AS sttc_group
    FROM task.lydus_ecg_image_v0 AS used
    INNER JOIN lydus.class_evidence_v0 AS evidence ON used.record_id = evidence.record_id
    INNER JOIN map.dx_code AS known ON evidence.value = CAST(known.code AS VARCHAR)
    WHERE used.left_out IS NULL AND evidence.class = 'STTC' AND evidence.accepted
    GROUP BY used.part, used.record_id
)

SELECT
    part
    , sttc_group
    , count(*) AS records
FROM groups
GROUP BY part, sttc_group
