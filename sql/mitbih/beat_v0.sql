-- mitbih.beat v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: ecg-heartbeat-arrhythmia@0, label; AAMI EC57 by map.mitbih_symbol
--
-- Every annotation that is a beat, with its class and the symbol that gave it; beat_no counts a record's beats from 1.
-- Flutter waves (!) and isolated artefacts (|) are annotated like beats and are none.

SELECT
    record_id
    , row_no
    , CAST(row_number() OVER (PARTITION BY record_id ORDER BY row_no) AS INTEGER) AS beat_no
    , sample
    , symbol
    , class
    , is_premature
    , next_sample
    , following_sample
FROM mitbih.annotation_v0
WHERE is_beat
