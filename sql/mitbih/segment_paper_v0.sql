-- mitbih.segment_paper v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: seven steps of Kachuee et al. 2018 with annotated peaks; ours (hz, window_s, length_factor, half)
--
-- The paper's segmenter with the annotated beats in place of its peaks: the signal at 125 Hz in windows of 10 s, a
-- segment from every beat of 1.2 times the median interval between the beats of its window, those that the window's
-- end would cut left out. On the release: 99,023 beats; 99,022 where half a place is rounded to even instead of up.
--
-- reason: no_whole_window (in the last, shorter piece of the record), no_interval (fewer than two beats in its
-- window), cut_by_window. Places are samples at 125 Hz, rounded.

WITH params AS (
    SELECT
        125 AS hz
        , 10 AS window_s
        , 1.2 AS length_factor
        , 0.5 AS half
)

, places AS (
    SELECT
        beat.record_id
        , beat.row_no
        , beat.class
        , CAST(floor(beat.sample * params.hz / record.hz + params.half) AS BIGINT) AS place
        , CAST(floor(record.n_samples * params.hz / record.hz) AS BIGINT) AS n_places
        , params.hz * params.window_s AS window_places
        , params.length_factor
    FROM mitbih.beat_v0 AS beat
    INNER JOIN mitbih.record_v0 AS record ON beat.record_id = record.record_id
    CROSS JOIN params
)

, windows AS (
    SELECT
        *
        , CAST(floor(place / window_places) AS BIGINT) AS window_no
    FROM places
)

, intervals AS (
    SELECT
        *
        , lead(place) OVER (PARTITION BY record_id, window_no ORDER BY row_no) - place AS interval_places
    FROM windows
)

, medians AS (
    SELECT
        record_id
        , window_no
        , median(interval_places) AS median_interval
    FROM intervals
    GROUP BY record_id, window_no
)

, lengths AS (
    SELECT
        windows.*
        , (windows.window_no + 1) * windows.window_places AS window_end
        , CAST(floor(windows.length_factor * medians.median_interval + params.half) AS INTEGER) AS length
    FROM windows
    CROSS JOIN params
    INNER JOIN medians ON windows.record_id = medians.record_id AND windows.window_no = medians.window_no
)

, judged AS (
    SELECT
        *
        , CASE
            WHEN window_end > n_places THEN 'no_whole_window'
            WHEN length IS NULL THEN 'no_interval'
            WHEN place + length > window_end THEN 'cut_by_window'
        END AS reason
    FROM lengths
)

SELECT
    record_id
    , row_no
    , class
    , window_no
    , place
    , length
    , reason IS NULL AS accepted
    , reason
FROM judged
