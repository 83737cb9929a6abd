-- ptbdb.record_label v0
-- layer: label
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@0, label
--
-- The class of every record adds up ptbdb.diagnosis: the one class that is accepted. reason says why there is none:
-- no_diagnosis (no reason for admission in the header), contradiction (both classes), or what refused the candidates.

WITH verdicts AS (
    SELECT
        record_id
        , count(DISTINCT CASE WHEN accepted THEN class END) AS classes
        , min(CASE WHEN accepted THEN class END) AS class
        , min(reason) AS reason
        , min(admission) AS admission
    FROM ptbdb.diagnosis_v0
    GROUP BY record_id
)

SELECT
    record.record_id
    , record.patient_id
    , record.patient_from
    , CASE WHEN verdicts.classes = 1 THEN verdicts.class END AS class
    , CASE
        WHEN verdicts.record_id IS NULL THEN 'no_diagnosis'
        WHEN verdicts.classes > 1 THEN 'contradiction'
        WHEN verdicts.classes = 0 THEN verdicts.reason
    END AS reason
    , verdicts.admission
FROM ptbdb.record_v0 AS record
LEFT JOIN verdicts ON record.record_id = verdicts.record_id
