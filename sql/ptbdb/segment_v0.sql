-- ptbdb.segment v0
-- layer: evidence
-- grain: record_id, peak_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: ecg-heartbeat-mi@0, segments.hz, segments.window_s, segments.length_factor; deviation segments; ours (half)
--
-- Heartbeats of lead II: R peaks that `load` detected (raw_ptbdb.detected_peak) in windows of 10 s, from each a segment
-- of 1.2 times the median interval between the peaks of its window, at 125 Hz: the paper's segmenter with a detector in
-- place of its threshold (see ptbdb.segment_paper for what that gives).
--
-- The segment is every step-th sample of [begin_sample, end_sample) of the channel, length of them. reason: no_lead_ii
-- (the peaks are of another lead), rate (no multiple of 125 Hz), no_whole_window (in the last, shorter piece),
-- no_interval (one peak in the window), cut_by_window.

WITH params AS (
    SELECT
        125 AS hz
        , 10 AS window_s
        , 1.2 AS length_factor
        , 0.5 AS half
)

, peaks AS (
    SELECT
        peak.record_id
        , peak.peak_no
        , peak.segment_no
        , peak.channel
        , peak.sample
        , lead.lead
        , lead.hz
        , lead.first_sample
        , lead.end_sample AS piece_end
        , CAST(floor((peak.sample - lead.first_sample) / (lead.hz * params.window_s)) AS INTEGER) AS window_no
    FROM raw_ptbdb.detected_peak AS peak
    CROSS JOIN params
    INNER JOIN ptbdb.lead_v0 AS lead
        ON peak.record_id = lead.record_id AND peak.channel = lead.channel AND peak.segment_no = lead.segment_no
)

, candidates AS (
    SELECT
        *
        , lead(sample) OVER (
            PARTITION BY record_id, segment_no, window_no ORDER BY peak_no
        ) - sample AS interval_samples
    FROM peaks
)

, medians AS (
    SELECT
        record_id
        , segment_no
        , window_no
        , median(interval_samples) AS median_interval
    FROM candidates
    GROUP BY record_id, segment_no, window_no
)

, lengths AS (
    SELECT
        candidates.record_id
        , candidates.peak_no
        , candidates.channel
        , candidates.lead
        , candidates.sample AS begin_sample
        , candidates.piece_end
        , candidates.first_sample + (candidates.window_no + 1) * candidates.hz * params.window_s AS window_end
        , CAST(floor(candidates.hz / params.hz) AS INTEGER) AS step
        , candidates.hz - floor(candidates.hz / params.hz) * params.hz AS rest_hz
        , CAST(
            floor(params.length_factor * medians.median_interval * params.hz / candidates.hz + params.half) AS INTEGER
        ) AS length
    FROM candidates
    CROSS JOIN params
    INNER JOIN medians
        ON candidates.record_id = medians.record_id
        AND candidates.segment_no = medians.segment_no
        AND candidates.window_no = medians.window_no
)

, judged AS (
    SELECT
        *
        , CASE
            WHEN lead <> 'II' THEN 'no_lead_ii'
            WHEN rest_hz <> 0 THEN 'rate'
            WHEN window_end > piece_end THEN 'no_whole_window'
            WHEN length IS NULL THEN 'no_interval'
            WHEN begin_sample + length * step > window_end THEN 'cut_by_window'
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
    , reason IS NULL AS accepted
    , reason
FROM judged
