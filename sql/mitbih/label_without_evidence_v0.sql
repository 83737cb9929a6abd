-- mitbih.label_without_evidence v0
-- layer: audit
-- grain: record_id, row_no
-- shard: none
-- stored: no
-- status: draft
-- source: house rule: a label is an aggregate of accepted evidence, a missing segment has a reason
--
-- Labelled beats that are no beat of the evidence or have another class there, beats of the evidence without a label,
-- and beats with neither a segment nor a reason why there is none.

SELECT
    coalesce(label.record_id, beat.record_id) AS record_id
    , coalesce(label.row_no, beat.row_no) AS row_no
    , label.class
    , beat.class AS evidence
    , label.reason
FROM mitbih.beat_label_v0 AS label
FULL JOIN mitbih.beat_v0 AS beat ON label.record_id = beat.record_id AND label.row_no = beat.row_no
WHERE
    label.class IS DISTINCT FROM beat.class
    OR label.class IS NULL
    OR (label.reason IS NULL AND label.length IS NULL)
