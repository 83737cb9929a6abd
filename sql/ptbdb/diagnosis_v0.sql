-- ptbdb.diagnosis v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: header comment "Reason for admission" of the release; ecg-heartbeat-mi@0, label by map.ptbdb_admission
--
-- Every reason for admission that a header gives, as a candidate of a class; row_no is the header's line. Infarction
-- and healthy control alone are classes: any other reason, and "n/a", is refused ('other_diagnosis'), as is a wording
-- that the map does not hold ('unknown_diagnosis').

WITH reasons AS (
    SELECT
        record_id
        , row_no
        , trim(split_part(text, ':', 2)) AS admission
    FROM raw_ptbdb.comment
    WHERE starts_with(lower(text), 'reason for admission:')
)

SELECT
    reasons.record_id
    , reasons.row_no
    , reasons.admission
    , known.class
    , known.class IS NOT NULL AS accepted
    , CASE
        WHEN known.admission IS NULL THEN 'unknown_diagnosis'
        WHEN known.class IS NULL THEN 'other_diagnosis'
    END AS reason
FROM reasons
LEFT JOIN map.ptbdb_admission AS known ON lower(reasons.admission) = known.admission
