-- ptbdb.segment_paper v0
-- layer: evidence
-- grain: record_id, peak_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: steps of Kachuee et al. 2018 as written; ours (hz, window_s, threshold, length_factor, half)
--
-- The paper's segmenter as it is written, on lead II: at 125 Hz, in windows of 10 s scaled to 0..1, every local maximum
-- from 0.9 on (raw_ptbdb.window_peak) begins a segment of 1.2 times the median interval between the maxima of its
-- window. Where a T wave or the wander of the baseline reaches as high as the R wave, each ripple on it is a maximum:
-- on two of the four records here the median segment is four samples long. ptbdb.segment is what the task uses.
--
-- Columns as in ptbdb.segment. reason: no_lead_ii, rate, no_interval, cut_by_window.

WITH params AS (
    SELECT
        125 AS hz
        , 10 AS window_s
        , 0.9 AS threshold
        , 1.2 AS length_factor
        , 0.5 AS half
)

, candidates AS (
    SELECT
        peak.record_id
        , peak.peak_no
        , peak.segment_no
        , peak.channel
        , peak.window_no
        , peak.place
        , peak.sample
        , peak.height
        , lead(peak.place) OVER (
            PARTITION BY peak.record_id, peak.segment_no, peak.window_no ORDER BY peak.peak_no
        ) - peak.place AS interval_places
    FROM raw_ptbdb.window_peak AS peak
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

, lengths AS (
    SELECT
        candidates.record_id
        , candidates.peak_no
        , candidates.channel
        , lead.lead
        , candidates.sample AS begin_sample
        , candidates.place
        , (candidates.window_no + 1) * params.hz * params.window_s AS window_end
        , CAST(floor(lead.hz / params.hz) AS INTEGER) AS step
        , lead.hz - floor(lead.hz / params.hz) * params.hz AS rest_hz
        , CAST(floor(params.length_factor * medians.median_interval + params.half) AS INTEGER) AS length
        , candidates.height
    FROM candidates
    CROSS JOIN params
    INNER JOIN medians
        ON candidates.record_id = medians.record_id
        AND candidates.segment_no = medians.segment_no
        AND candidates.window_no = medians.window_no
    INNER JOIN ptbdb.lead_v0 AS lead
        ON candidates.record_id = lead.record_id
        AND candidates.channel = lead.channel
        AND candidates.segment_no = lead.segment_no
)

, judged AS (
    SELECT
        *
        , CASE
            WHEN lead <> 'II' THEN 'no_lead_ii'
            WHEN rest_hz <> 0 THEN 'rate'
            WHEN length IS NULL THEN 'no_interval'
            WHEN place + length > window_end THEN 'cut_by_window'
        END AS reason
    FROM lengths
)

SELECT
    record_id
    , peak_no
    , channel
    , lead
    , begin_sample
    , begin_sample + length * step AS end_sample
    , step
    , length
    , height
    , reason IS NULL AS accepted
    , reason
FROM judged
