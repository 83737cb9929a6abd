-- mitbih.beat_why v0
-- layer: report
-- grain: record_id, row_no, evidence
-- shard: record_id
-- stored: no
-- status: draft
-- source: map.mitbih_symbol, map.mitbih_reason
--
-- Why a beat has its class and why it has no segment, whatever the task: the annotation that mitbih.beat reads, as a
-- candidate that nothing refuses, and the refusal of mitbih.segment_published, which leaves the beat out of its part.
-- Nothing is decided here. The tasks on MIT-BIH add their instance and their own exclusions.
--
-- source_no, first_row and last_row are the annotation's number in the annotation file, which has no lines.

WITH bounds AS (
    SELECT
        annotation.record_id
        , annotation.row_no
        , CASE
            WHEN annotation.next_sample IS NULL THEN 'No annotation follows'
            WHEN annotation.following_sample IS NULL
                THEN 'The next annotation, at sample ' || annotation.next_sample || ', is the last of the record'
            ELSE
                'The next annotation stands at sample ' || annotation.next_sample || ', the following at '
                || annotation.following_sample
        END AS neighbours
    FROM mitbih.annotation_v0 AS annotation
)

, segments AS (
    SELECT
        segment.record_id
        , segment.row_no
        , segment.accepted
        , segment.reason
        , bounds.neighbours
        || CASE
            WHEN segment.end_sample IS NULL THEN ''
            ELSE
                '; its segment runs from sample ' || segment.begin_sample || ' to ' || segment.end_sample
                || ' of channel ' || segment.channel || coalesce(' (' || segment.lead || ')', '') || ', '
                || segment.length || ' of its samples'
        END AS bounds
    FROM mitbih.segment_published_v0 AS segment
    INNER JOIN bounds ON segment.record_id = bounds.record_id AND segment.row_no = bounds.row_no
)

SELECT
    beat.record_id
    , beat.row_no
    , 'candidate symbol ' || beat.symbol AS evidence
    , beat.class
    , 'candidate' AS kind
    , 'symbol' AS rule
    , beat.symbol AS value
    , TRUE AS accepted
    , CAST(NULL AS VARCHAR) AS reason
    , 'mitbih.beat_v0' AS view
    , 'annotation' AS source
    , CAST(beat.row_no AS BIGINT) AS source_no
    , line.source_file
    , beat.row_no AS first_row
    , beat.row_no AS last_row
    , beat.symbol || ' at sample ' || beat.sample AS said
    , 'mitbih_symbol: ' || symbol.symbol || ', ' || symbol.class || ', ' || symbol.note AS map_row
    , 'Annotation ' || beat.row_no || ', at sample ' || beat.sample || ' ('
    || round(beat.sample * 1000 / record.hz) / 1000 || ' s), is ' || beat.symbol || ', ' || symbol.note || ', class '
    || beat.class || '. ' || segments.bounds || '.' AS words
FROM mitbih.beat_v0 AS beat
INNER JOIN mitbih.record_v0 AS record ON beat.record_id = record.record_id
INNER JOIN raw_mitbih.annotation AS line ON beat.record_id = line.record_id AND beat.row_no = line.row_no
INNER JOIN map.mitbih_symbol AS symbol ON beat.symbol = symbol.symbol
INNER JOIN segments ON beat.record_id = segments.record_id AND beat.row_no = segments.row_no

UNION ALL
SELECT
    segments.record_id
    , segments.row_no
    , 'left_out segment ' || segments.reason AS evidence
    , NULL AS class
    , 'left_out' AS kind
    , 'segment' AS rule
    , NULL AS value
    , FALSE AS accepted
    , segments.reason
    , 'mitbih.segment_published_v0' AS view
    , 'annotation' AS source
    , segments.row_no AS source_no
    , line.source_file
    , segments.row_no AS first_row
    , segments.row_no AS last_row
    , NULL AS said
    , NULL AS map_row
    , upper(substr(reason.meaning, 1, 1)) || substr(reason.meaning, 2) || '. ' || segments.bounds || '.' AS words
FROM segments
INNER JOIN raw_mitbih.annotation AS line ON segments.record_id = line.record_id AND segments.row_no = line.row_no
LEFT JOIN map.mitbih_reason AS reason ON segments.reason = reason.reason
WHERE NOT segments.accepted
