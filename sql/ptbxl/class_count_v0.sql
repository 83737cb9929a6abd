-- ptbxl.class_count v0
-- layer: report
-- grain: part, class
-- shard: none
-- stored: no
-- status: draft
-- source: ptbxl.class_evidence v0
--
-- Records with each class, by part; 'records' and 'scored' are rows too. Counted from the evidence, so the task view is
-- counted a second way.

WITH verdicts AS (
    SELECT
        ecg_id
        , class
        , bool_or(kind = 'candidate' AND accepted) AND NOT bool_or(kind = 'exclusion' AND NOT accepted) AS has_class
    FROM ptbxl.class_evidence_v0
    GROUP BY ecg_id, class
)

, classes AS (
    SELECT
        ecg_id
        , class
    FROM verdicts
    WHERE has_class

    UNION ALL
    SELECT
        ecg_id
        , 'records' AS class
    FROM raw_ptbxl.record

    UNION ALL
    SELECT DISTINCT
        ecg_id
        , 'scored' AS class
    FROM verdicts
    WHERE has_class
)

SELECT
    record.part
    , classes.class
    , count(*) AS records
FROM classes
INNER JOIN ptbxl.record_v0 AS record ON classes.ecg_id = record.ecg_id
GROUP BY record.part, classes.class
