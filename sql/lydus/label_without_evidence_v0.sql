-- lydus.label_without_evidence v0
-- layer: audit
-- grain: record_id, class
-- shard: none
-- stored: no
-- status: draft
-- source: house rule: a label is an aggregate of accepted evidence
--
-- Labels that no accepted candidate gives, Old MI that an Acute MI line excludes, and both infarcts in one record.

SELECT
    label.record_id
    , label.class
FROM lydus.record_class_v0 AS label
LEFT JOIN lydus.class_evidence_v0 AS evidence
    ON label.record_id = evidence.record_id
    AND label.class = evidence.class
    AND evidence.kind = 'candidate'
    AND evidence.accepted
WHERE evidence.record_id IS NULL

UNION
SELECT
    label.record_id
    , label.class
FROM lydus.record_class_v0 AS label
INNER JOIN lydus.record_label_v0 AS record ON label.record_id = record.record_id
INNER JOIN lydus.class_evidence_v0 AS evidence
    ON label.record_id = evidence.record_id AND label.class = evidence.class
WHERE label.class = 'Old MI' AND (evidence.kind = 'exclusion' OR record.acute_mi)
