-- vitaldb.attrition v0
-- layer: report
-- grain: reason
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, segments, label
--
-- Segments without a label by reason: `first` counts each once, under the reason that stands first in
-- map.vitaldb_reason; `any` counts every segment that carries the reason, so one segment can count in several.

WITH unlabelled AS (
    SELECT
        case_id
        , start_s
        , reason
    FROM vitaldb.segment_label_v0
    WHERE label IS NULL
)

, every AS (
    SELECT DISTINCT
        unlabelled.case_id
        , unlabelled.start_s
        , evidence.reason
    FROM unlabelled
    INNER JOIN vitaldb.segment_evidence_v0 AS evidence
        ON unlabelled.case_id = evidence.case_id AND unlabelled.start_s = evidence.start_s
    WHERE NOT evidence.accepted
)

, firsts AS (
    SELECT
        reason
        , count(*) AS segments
    FROM unlabelled
    GROUP BY reason
)

, anys AS (
    SELECT
        reason
        , count(*) AS segments
    FROM every
    GROUP BY reason
)

SELECT
    anys.reason
    , coalesce(firsts.segments, 0) AS first_segments
    , anys.segments AS any_segments
FROM anys
LEFT JOIN firsts ON anys.reason = firsts.reason
