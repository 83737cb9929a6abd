-- vitaldb.annotation v0
-- layer: staging
-- grain: case_id, row_no
-- shard: case_id
-- stored: no
-- status: released
-- source: annotation files of the release; vitaldb-arrhythmia-abnormal@0, segments.grid_s
--
-- One row an annotation row, with today's names. row_no is the line in the file and orders rows that share a
-- time stamp: two normal segments of the real files hang on that order.
--
-- Not stored: it adds to the raw table, which is Parquet already, what two small maps say of its words. To look
-- them up for each of its children takes less than half the time of writing all rows once more.
--
-- Mended here:
--   old rhythm names (SR-mPVC-BT, SR-mPAC-BT, MAT) are translated by map.vitaldb_rhythm
--   case 2453 writes Start and End into the beat column: they become markers, the row is no beat
--   markers carry their number in the text (Start3): split into kind and number; case 2453 has no numbers
-- Left as it is:
--   an empty rhythm or beat is NULL; rows of one time stamp stay separate rows
--   bad_signal_quality is the file's own flag (in case 2453 only the marker rows carry it)

WITH params AS (
    SELECT 5 AS grid_s
)

, marked AS (
    SELECT
        annotation.case_id
        , annotation.row_no
        , annotation.time_second AS time_s
        , annotation.beat_type
        , annotation.rhythm_label
        , annotation.bad_signal_quality
        , CASE
            WHEN beat.kind = 'marker' THEN annotation.beat_type
            ELSE annotation.bad_signal_quality_label
        END AS marker
        , coalesce(beat.kind = 'beat', FALSE) AS is_beat
        , coalesce(beat.kind = 'beat' AND beat.premature, FALSE) AS is_premature
    FROM raw_vitaldb.annotation
    LEFT JOIN map.vitaldb_beat AS beat ON annotation.beat_type = beat.beat_type
)

SELECT
    marked.case_id
    , marked.row_no
    , marked.time_s
    , CAST(floor(marked.time_s / params.grid_s) AS INTEGER) * params.grid_s AS start_s
    , CASE WHEN marked.is_beat THEN marked.beat_type END AS beat_type
    , marked.is_beat
    , marked.is_premature
    , rhythm.rhythm
    , rhythm.role
    , marked.bad_signal_quality
    , lower(translate(marked.marker, '0123456789', '')) AS marker_kind
    , CAST(nullif(translate(marked.marker, translate(marked.marker, '0123456789', ''), ''), '') AS INTEGER) AS marker_no
FROM marked
CROSS JOIN params
LEFT JOIN map.vitaldb_rhythm AS rhythm ON marked.rhythm_label = rhythm.spelling
