-- mitbih.segment_detected v0
-- layer: evidence
-- grain: record_id, peak_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: steps of Kachuee et al. 2018 as written; ours (hz, window_s, threshold, length_factor, half, tolerance_s)
--
-- The paper's segmenter as it is written: R candidates are the local maxima above 0.9 of windows that are scaled to
-- 0..1 (raw_mitbih.window_peak), a segment is 1.2 times the median interval of its window long, those that the window's
-- end would cut are left out. A candidate has the class of the nearest annotated beat within 150 ms, of which the paper
-- says nothing. About half of the beats are found, and a quarter of those of class V: a fixed share of the window's
-- greatest value is a poor detector where beats differ in height. Two candidates of one beat both count. Distances are
-- from the candidate's place at 125 Hz, not from the sample next to it.
--
-- reason: no_interval (one candidate in the window), cut_by_window, no_annotated_beat.

WITH params AS (
    SELECT
        125 AS hz
        , 10 AS window_s
        , 0.9 AS threshold
        , 1.2 AS length_factor
        , 0.5 AS half
        , 0.15 AS tolerance_s
)

, candidates AS (
    SELECT
        peak.record_id
        , peak.peak_no
        , peak.segment_no
        , peak.window_no
        , peak.place
        , peak.sample
        , peak.height
        , params.hz * params.window_s AS window_places
        , params.length_factor
        , lead(peak.place) OVER (
            PARTITION BY peak.record_id, peak.segment_no, peak.window_no ORDER BY peak.peak_no
        ) - peak.place AS interval_places
    FROM raw_mitbih.window_peak AS peak
    CROSS JOIN params
    WHERE peak.height >= params.threshold
)

, medians AS (
    SELECT
        record_id
        , segment_no
        , window_no
        , median(interval_places) AS median_interval
    FROM candidates
    GROUP BY record_id, segment_no, window_no
)

, placed AS (
    SELECT
        candidates.record_id
        , candidates.peak_no
        , record.hz
        , candidates.sample + candidates.place * record.hz / params.hz
        - floor(candidates.place * record.hz / params.hz + params.half) AS position
    FROM candidates
    CROSS JOIN params
    INNER JOIN mitbih.record_v0 AS record ON candidates.record_id = record.record_id
)

, near AS (
    SELECT
        placed.record_id
        , placed.peak_no
        , beat.row_no
        , beat.class
        , row_number() OVER (
            PARTITION BY placed.record_id, placed.peak_no
            ORDER BY abs(beat.sample - placed.position), beat.row_no
        ) AS place_no
    FROM placed
    CROSS JOIN params
    INNER JOIN mitbih.beat_v0 AS beat
        ON placed.record_id = beat.record_id
        AND beat.sample >= placed.position - params.tolerance_s * placed.hz
        AND beat.sample <= placed.position + params.tolerance_s * placed.hz
)

, lengths AS (
    SELECT
        candidates.*
        , (candidates.window_no + 1) * candidates.window_places AS window_end
        , CAST(floor(candidates.length_factor * medians.median_interval + params.half) AS INTEGER) AS length
        , near.row_no
        , near.class
    FROM candidates
    CROSS JOIN params
    INNER JOIN medians
        ON candidates.record_id = medians.record_id
        AND candidates.segment_no = medians.segment_no
        AND candidates.window_no = medians.window_no
    LEFT JOIN near
        ON candidates.record_id = near.record_id AND candidates.peak_no = near.peak_no AND near.place_no = 1
)

, judged AS (
    SELECT
        *
        , CASE
            WHEN length IS NULL THEN 'no_interval'
            WHEN place + length > window_end THEN 'cut_by_window'
            WHEN row_no IS NULL THEN 'no_annotated_beat'
        END AS reason
    FROM lengths
)

SELECT
    record_id
    , peak_no
    , row_no
    , class
    , window_no
    , place
    , length
    , height
    , reason IS NULL AS accepted
    , reason
FROM judged
