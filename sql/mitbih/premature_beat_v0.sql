-- mitbih.premature_beat v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: premature beats by map.mitbih_symbol
--
-- Beats that the annotators called premature, with the rhythm in which they stand. Escape beats come late and are none.

SELECT
    beat.record_id
    , beat.row_no
    , beat.sample
    , beat.symbol
    , beat.class
    , span.rhythm
FROM mitbih.beat_v0 AS beat
LEFT JOIN mitbih.rhythm_span_v0 AS span
    ON beat.record_id = span.record_id AND beat.sample >= span.begin_sample AND beat.sample < span.end_sample
WHERE beat.is_premature
