-- mitbih.segment_published v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: ecg-heartbeat-arrhythmia@0, segments.channel, segments.step, segments.following_fraction; deviation segments
--
-- What the public heartbeat CSVs hold, found by search in the records: a beat's segment begins at its annotation and
-- ends a fifth of the way from the next annotation to the following one, annotations of any kind; where none follows,
-- the end of the record takes its place. Every third sample of the first channel (120 Hz, not the 125 of the paper),
-- scaled from its least to its greatest value, cut or filled with zeros to 187 samples.
--
-- The last annotation of a record has no next one, so its beat has no segment: 48 beats of the release.
--
-- reason: last_annotation, beyond_record (it begins or ends outside the record), no_signal (the channel was not
-- loaded), signal_gap (the segment is not inside one stored piece), empty (no sample in it). Reasons in this order.

WITH params AS (
    SELECT
        0 AS channel
        , 3 AS step
        , 0.2 AS following_fraction
)

, bounds AS (
    SELECT
        beat.record_id
        , beat.row_no
        , beat.class
        , params.channel
        , params.step
        , record.n_samples
        , beat.sample AS begin_sample
        , beat.next_sample + CAST(
            floor(
                params.following_fraction
                * (coalesce(beat.following_sample, greatest(record.n_samples, beat.next_sample)) - beat.next_sample)
            ) AS BIGINT
        ) AS end_sample
    FROM mitbih.beat_v0 AS beat
    INNER JOIN mitbih.record_v0 AS record ON beat.record_id = record.record_id
    CROSS JOIN params
)

, pieces AS (
    SELECT
        record_id
        , channel
        , first_sample
        , end_sample
    FROM mitbih.lead_v0
    WHERE has_samples
)

, channels AS (
    SELECT
        record_id
        , channel
        , min(lead) AS lead
        , bool_or(has_samples) AS has_samples
    FROM mitbih.lead_v0
    GROUP BY record_id, channel
)

, judged AS (
    SELECT
        bounds.record_id
        , bounds.row_no
        , bounds.class
        , bounds.channel
        , channels.lead
        , bounds.begin_sample
        , bounds.end_sample
        , bounds.step
        , CASE
            WHEN bounds.end_sample > bounds.begin_sample
                THEN CAST(ceil((bounds.end_sample - bounds.begin_sample) / bounds.step) AS INTEGER)
            ELSE 0
        END AS length
        , CASE
            WHEN bounds.end_sample IS NULL THEN 'last_annotation'
            WHEN bounds.begin_sample < 0 OR bounds.end_sample > bounds.n_samples THEN 'beyond_record'
            WHEN NOT coalesce(channels.has_samples, FALSE) THEN 'no_signal'
            WHEN pieces.record_id IS NULL THEN 'signal_gap'
            WHEN bounds.end_sample <= bounds.begin_sample THEN 'empty'
        END AS reason
    FROM bounds
    LEFT JOIN channels ON bounds.record_id = channels.record_id AND bounds.channel = channels.channel
    LEFT JOIN pieces
        ON bounds.record_id = pieces.record_id
        AND bounds.channel = pieces.channel
        AND bounds.begin_sample >= pieces.first_sample
        AND bounds.end_sample <= pieces.end_sample
)

SELECT
    record_id
    , row_no
    , class
    , channel
    , lead
    , begin_sample
    , end_sample
    , step
    , CASE WHEN end_sample IS NOT NULL THEN length END AS length
    , reason IS NULL AS accepted
    , reason
FROM judged
