-- lydus.acute_mi_source v0
-- layer: report
-- grain: part, source
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, counts; deviation acute_mi
--
-- Where Acute MI comes from, among the sampled records that are used: 'listed' has a statement of the Challenge's
-- list, 'older' has the older wording alone (they would be Old MI without it). The two add up to the class.

WITH sources AS (
    SELECT
        used.part
        , used.record_id
        , bool_or(evidence.value <> 'older') AS is_listed
    FROM task.lydus_ecg_image_v0 AS used
    INNER JOIN lydus.class_evidence_v0 AS evidence ON used.record_id = evidence.record_id
    WHERE used.left_out IS NULL AND evidence.class = 'Acute MI' AND evidence.accepted
    GROUP BY used.part, used.record_id
)

SELECT
    part
    , CASE WHEN is_listed THEN 'listed' ELSE 'older' END AS source
    , count(*) AS records
FROM sources
GROUP BY part, is_listed
