-- ptbdb.label_without_evidence v0
-- layer: audit
-- grain: record_id
-- shard: none
-- stored: no
-- status: draft
-- source: house rule: a label is an aggregate of accepted evidence, a missing label has a reason
--
-- Records with a class that no accepted diagnosis gives, and records without class or reason.

SELECT
    label.record_id
    , label.class
    , label.reason
FROM ptbdb.record_label_v0 AS label
LEFT JOIN ptbdb.diagnosis_v0 AS diagnosis
    ON label.record_id = diagnosis.record_id AND diagnosis.accepted AND label.class = diagnosis.class
WHERE (label.class IS NOT NULL AND diagnosis.record_id IS NULL) OR (label.class IS NULL AND label.reason IS NULL)
