-- mitbih.beat_label v0
-- layer: label
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-arrhythmia@0, label, segments
--
-- Every annotated beat with its class, its patient and the segment that the published rule cuts for it. A beat whose
-- segment is refused keeps its class and says why it has none. patient_from says 'record' where no source names the
-- patient; paced is of the record.

SELECT
    segment.record_id
    , segment.row_no
    , record.patient_id
    , record.patient_from
    , record.de_chazal
    , record.one_side
    , record.is_validation
    , beat.sample
    , beat.symbol
    , segment.class
    , segment.channel
    , segment.lead
    , segment.begin_sample
    , segment.end_sample
    , segment.step
    , segment.length
    , segment.reason
    , paced.record_id IS NOT NULL AS is_paced
    , span.rhythm
FROM mitbih.segment_published_v0 AS segment
INNER JOIN mitbih.beat_v0 AS beat ON segment.record_id = beat.record_id AND segment.row_no = beat.row_no
INNER JOIN mitbih.record_v0 AS record ON segment.record_id = record.record_id
LEFT JOIN mitbih.paced_record_v0 AS paced ON segment.record_id = paced.record_id
LEFT JOIN mitbih.rhythm_span_v0 AS span
    ON segment.record_id = span.record_id AND beat.sample >= span.begin_sample AND beat.sample < span.end_sample
