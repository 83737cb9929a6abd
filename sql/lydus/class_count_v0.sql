-- lydus.class_count v0
-- layer: report
-- grain: part, class
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, counts
--
-- Records with each class among the sampled records that are used; 'records', 'scored' and 'groups' are rows too.

WITH used AS (
    SELECT *
    FROM task.lydus_ecg_image_v0
    WHERE left_out IS NULL
)

SELECT
    used.part
    , label.class
    , count(*) AS records
FROM used
INNER JOIN lydus.record_class_v0 AS label ON used.record_id = label.record_id
GROUP BY used.part, label.class

UNION ALL
SELECT
    part
    , 'records' AS class
    , count(*) AS records
FROM used
GROUP BY part

UNION ALL
SELECT
    part
    , 'scored' AS class
    , count(*) AS records
FROM used
WHERE scored
GROUP BY part

UNION ALL
SELECT
    part
    , 'groups' AS class
    , count(DISTINCT group_id) AS records
FROM used
GROUP BY part
