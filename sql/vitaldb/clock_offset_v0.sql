-- vitaldb.clock_offset v0
-- layer: evidence
-- grain: case_id
-- shard: case_id
-- stored: yes
-- status: released
-- source: public validation notes (shifts up to 1.2 s a case); ours (reach_ms, bin_ms, tolerance_ms, min_share)
--
-- The annotation clock against the clock of the waveform, for the cases whose signal is loaded: detected
-- R peak minus annotated beat, in milliseconds; positive when the waveform is late.
--
-- Every pair of a beat and a peak within 2 s counts in a bin of 20 ms; the fullest bin is the shift (irregular
-- beats line up at one shift only), the median of the pairs within a bin of it the offset. Refused: an offset
-- beyond 100 ms, and a case in which fewer than half of the beats meet a peak at any one shift.

WITH params AS (
    SELECT
        2000 AS reach_ms
        , 20 AS bin_ms
        , 100 AS tolerance_ms
        , 0.5 AS min_share
)

, beats AS (
    SELECT
        case_id
        , CAST(round(time_s * 1000) AS BIGINT) AS at_ms
    FROM vitaldb.annotation_v0
    WHERE is_beat
)

, peaks AS (
    SELECT
        case_id
        , CAST(round(sample * 1000.0 / hz) AS BIGINT) AS at_ms
    FROM raw_vitaldb.detected_peak
)

, pairs AS (
    SELECT
        beats.case_id
        , peaks.at_ms - beats.at_ms AS offset_ms
        , CAST(floor((peaks.at_ms - beats.at_ms) / params.bin_ms) AS INTEGER) AS bin
    FROM beats
    CROSS JOIN params
    INNER JOIN peaks
        ON beats.case_id = peaks.case_id
        AND peaks.at_ms BETWEEN beats.at_ms - params.reach_ms AND beats.at_ms + params.reach_ms
)

, bins AS (
    SELECT
        case_id
        , bin
        , row_number() OVER (PARTITION BY case_id ORDER BY count(*) DESC, abs(bin), bin) AS place
    FROM pairs
    GROUP BY case_id, bin
)

, offsets AS (
    SELECT
        pairs.case_id
        , CAST(round(median(pairs.offset_ms)) AS INTEGER) AS offset_ms
        , count(*) AS matched
    FROM pairs
    INNER JOIN bins ON pairs.case_id = bins.case_id AND pairs.bin BETWEEN bins.bin - 1 AND bins.bin + 1
    WHERE bins.place = 1
    GROUP BY pairs.case_id
)

, cases AS (
    SELECT
        signal.case_id
        , count(beats.case_id) AS beats
    FROM raw_vitaldb.signal_case AS signal
    LEFT JOIN beats ON signal.case_id = beats.case_id
    GROUP BY signal.case_id
)

, measured AS (
    SELECT
        cases.case_id
        , cases.beats
        , coalesce(offsets.matched, 0) AS matched
        , offsets.offset_ms
        , CASE
            WHEN offsets.matched IS NULL OR offsets.matched < cases.beats * params.min_share THEN 'no_match'
            WHEN abs(offsets.offset_ms) > params.tolerance_ms THEN 'offset'
        END AS reason
    FROM cases
    CROSS JOIN params
    LEFT JOIN offsets ON cases.case_id = offsets.case_id
)

SELECT
    case_id
    , beats
    , matched
    , offset_ms
    , reason IS NULL AS accepted
    , reason
FROM measured
