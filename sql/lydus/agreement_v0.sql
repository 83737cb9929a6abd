-- lydus.agreement v0
-- layer: report
-- grain: class
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, agreement; ambiguity 19
--
-- Labels against the reviewed columns over all records of the release, not only the sampled: agreement is the share in
-- which the class is present exactly when a column names it. Classes that no column names are not here. A release
-- without those columns gives no row: the check is off, and said to be by the loader.

WITH classes AS (
    SELECT DISTINCT class
    FROM map.lydus_reviewed
    WHERE class IS NOT NULL
)

, totals AS (
    SELECT count(*) AS records
    FROM raw_lydus.record
    WHERE
        coalesce(rhythm, premature_beat, bbb, avb) IS NOT NULL
)

, named AS (
    SELECT DISTINCT
        record_id
        , class
    FROM lydus.reviewed_class_v0
    WHERE class IS NOT NULL
)

, pairs AS (
    SELECT
        coalesce(named.class, label.class) AS class
        , named.class IS NOT NULL AS in_column
        , label.class IS NOT NULL AS in_label
        , count(*) AS records
    FROM named
    FULL OUTER JOIN lydus.record_class_v0 AS label
        ON named.record_id = label.record_id AND named.class = label.class
    GROUP BY coalesce(named.class, label.class), named.class IS NOT NULL, label.class IS NOT NULL
)

SELECT
    classes.class
    , totals.records
    , CAST(coalesce(sum(CASE WHEN pairs.in_label THEN pairs.records END), 0) AS BIGINT) AS label_records
    , CAST(coalesce(sum(CASE WHEN pairs.in_column THEN pairs.records END), 0) AS BIGINT) AS column_records
    , CAST(coalesce(sum(CASE WHEN NOT pairs.in_column THEN pairs.records END), 0) AS BIGINT) AS label_only
    , CAST(coalesce(sum(CASE WHEN NOT pairs.in_label THEN pairs.records END), 0) AS BIGINT) AS column_only
    , 1 - CAST(
        coalesce(sum(CASE WHEN NOT pairs.in_column OR NOT pairs.in_label THEN pairs.records END), 0) AS BIGINT
    ) / totals.records AS agreement
FROM classes
CROSS JOIN totals
LEFT JOIN pairs ON classes.class = pairs.class
WHERE totals.records > 0
GROUP BY classes.class, totals.records
