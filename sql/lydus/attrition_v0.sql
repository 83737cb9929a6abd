-- lydus.attrition v0
-- layer: report
-- grain: part, reason
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, exclusions; map.lydus_reason; ambiguities 17 and 20
--
-- What becomes of the records of each part: not_sampled, then each exclusion, then no_class (stays in its part, not
-- scored). `first_records` counts a record once, under the reason that stands first in the map; `any_records` every
-- record that the reason holds for, so one can count in several. Records without a part stand under 'none'.

WITH reasons AS (
    SELECT
        record_id
        , 'not_sampled' AS reason
    FROM lydus.record_v0
    WHERE NOT sampled

    UNION ALL
    SELECT
        record_id
        , reason
    FROM lydus.exclusion_v0

    UNION ALL
    SELECT
        record_id
        , 'no_class' AS reason
    FROM lydus.record_label_v0
    WHERE classes = 0
)

, ranked AS (
    SELECT
        coalesce(record.part, 'none') AS part
        , reasons.reason
        , row_number() OVER (PARTITION BY record.record_id ORDER BY known.rank) AS place
    FROM reasons
    INNER JOIN lydus.record_v0 AS record ON reasons.record_id = record.record_id
    INNER JOIN map.lydus_reason AS known ON reasons.reason = known.reason
)

SELECT
    part
    , reason
    , count(CASE WHEN place = 1 THEN 1 END) AS first_records
    , count(*) AS any_records
FROM ranked
GROUP BY part, reason
