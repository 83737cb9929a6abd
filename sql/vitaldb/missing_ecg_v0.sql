-- vitaldb.missing_ecg v0
-- layer: evidence
-- grain: case_id, start_s
-- shard: case_id
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, segments.max_ecg_missing_fraction; deviation not_scored
--
-- How much of a segment's ECG is missing, for the cases whose signal is loaded; a case that is not here was
-- not checked. A sample is missing where the .vital file has none (NaN) and where the recording does not reach.
-- Exactly a tenth is not too much. The facts about the signal are written by `load`: no view opens a signal.

WITH params AS (
    SELECT 0.1 AS max_ecg_missing_fraction
)

, spans AS (
    SELECT
        segment.case_id
        , segment.start_s
        , segment.start_s * signal.hz AS from_sample
        , (segment.start_s + segment.duration_s) * signal.hz AS to_sample
        , signal.first_sample AS stored_from
        , signal.first_sample + signal.n_samples AS stored_to
    FROM vitaldb.segment_v0 AS segment
    INNER JOIN raw_vitaldb.signal_case AS signal ON segment.case_id = signal.case_id
)

, holes AS (
    SELECT
        spans.case_id
        , spans.start_s
        , sum(
            least(spans.to_sample, run.first_sample + run.n_samples) - greatest(spans.from_sample, run.first_sample)
        ) AS n_samples
    FROM spans
    INNER JOIN raw_vitaldb.signal_run AS run
        ON spans.case_id = run.case_id
        AND run.first_sample < spans.to_sample
        AND run.first_sample + run.n_samples > spans.from_sample
    WHERE run.kind = 'missing'
    GROUP BY spans.case_id, spans.start_s
)

, counted AS (
    SELECT
        spans.case_id
        , spans.start_s
        , spans.to_sample - spans.from_sample AS n_samples
        , CAST(
            (spans.to_sample - spans.from_sample)
            - greatest(least(spans.to_sample, spans.stored_to) - greatest(spans.from_sample, spans.stored_from), 0)
            + coalesce(holes.n_samples, 0) AS INTEGER
        ) AS missing_samples
    FROM spans
    LEFT JOIN holes ON spans.case_id = holes.case_id AND spans.start_s = holes.start_s
)

SELECT
    counted.case_id
    , counted.start_s
    , counted.missing_samples
    , counted.missing_samples <= counted.n_samples * params.max_ecg_missing_fraction AS accepted
    , CASE
        WHEN counted.missing_samples > counted.n_samples * params.max_ecg_missing_fraction THEN 'missing_ecg'
    END AS reason
FROM counted
CROSS JOIN params
