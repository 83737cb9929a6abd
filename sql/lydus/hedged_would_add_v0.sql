-- lydus.hedged_would_add v0
-- layer: report
-- grain: part, class
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, counts; ambiguities 4, 5, 24 and 30
--
-- Used sampled records that would gain a class if hedged findings counted like definite ones: `records` for every
-- hedge (family hedged of map.lydus_reason), `seed_records` for the four hedges of the published spec alone.
-- Old MI is not gained beside Acute MI, and Acute MI is never gained: whole lines alone give it.

WITH reasons AS (
    SELECT DISTINCT reason
    FROM lydus.dx_class_evidence_v0
    WHERE reason IS NOT NULL AND kind = 'candidate'
)

, hedges AS (
    SELECT
        reasons.reason
        , reasons.reason = 'hedged_seed' AS is_seed
    FROM reasons
    CROSS JOIN unnest(string_split(reasons.reason, ' + ')) WITH ORDINALITY AS part (reason, place)
    LEFT JOIN map.lydus_reason AS known ON part.reason = known.reason
    GROUP BY reasons.reason
    HAVING bool_and(coalesce(known.family = 'hedged', FALSE))
)

, gains AS (
    SELECT
        used.part
        , used.record_id
        , evidence.class
        , bool_or(hedges.is_seed) AS by_seed
    FROM task.lydus_ecg_image_v0 AS used
    INNER JOIN lydus.class_evidence_v0 AS evidence ON used.record_id = evidence.record_id
    INNER JOIN hedges ON evidence.reason = hedges.reason
    LEFT JOIN lydus.record_class_v0 AS label
        ON used.record_id = label.record_id
        AND (evidence.class = label.class OR (evidence.class = 'Old MI' AND label.class = 'Acute MI'))
    WHERE used.left_out IS NULL AND evidence.kind = 'candidate' AND label.record_id IS NULL
    GROUP BY used.part, used.record_id, evidence.class
)

SELECT
    part
    , class
    , count(*) AS records
    , count(CASE WHEN by_seed THEN 1 END) AS seed_records
FROM gains
GROUP BY part, class
