-- vitaldb.label_without_evidence v0
-- layer: audit
-- grain: case_id, start_s
-- shard: none
-- stored: no
-- status: released
-- source: house rule: a label is an aggregate of accepted evidence, a missing label has a reason
--
-- Segments with a label that no accepted candidate of its class gives, and segments without label or reason.

SELECT
    label.case_id
    , label.start_s
    , label.label
    , label.reason
FROM vitaldb.segment_label_v0 AS label
LEFT JOIN vitaldb.segment_evidence_v0 AS evidence
    ON label.case_id = evidence.case_id
    AND label.start_s = evidence.start_s
    AND evidence.kind = 'candidate'
    AND evidence.accepted
    AND evidence.class = label.label
WHERE label.reason IS NULL OR (label.label IS NOT NULL AND evidence.case_id IS NULL)
