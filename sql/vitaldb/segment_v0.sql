-- vitaldb.segment v0
-- layer: staging
-- grain: case_id, start_s
-- shard: case_id
-- stored: yes
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, segments.grid_s; deviation segments
--
-- The 5-second grid: every [start_s, start_s + 5) from the segment of a case's first annotation row to that of
-- its last, whether a row lies in it or not, with what its rows come to. Starts are multiples of 5 s on the clock
-- of the recording; a row belongs to the segment that holds its time stamp.
--
-- <what>_row_no is the first row of its kind in the segment (the line in the file), NULL where there is none.
--
-- Chosen, with the effect of the other reading on the real files:
--   the partial segments at both ends are kept when their rows decide   (else -315 abnormal)
--   only rows inside decide, no rhythm is carried in from before        (else +286 abnormal)

WITH params AS (
    SELECT 5 AS grid_s
)

, tallies AS (
    SELECT
        case_id
        , start_s
        , CAST(count(*) AS INTEGER) AS rows_in
        , CAST(count(CASE WHEN is_beat THEN 1 END) AS INTEGER) AS beats
        , CAST(count(CASE WHEN is_premature THEN 1 END) AS INTEGER) AS premature_beats
        , CAST(count(CASE WHEN role = 'not_scored' THEN 1 END) AS INTEGER) AS noise_rows
        , CAST(count(CASE WHEN bad_signal_quality THEN 1 END) AS INTEGER) AS flagged_rows
        , CAST(count(CASE WHEN role <> 'not_scored' THEN 1 END) AS INTEGER) AS rhythm_rows
        , min(CASE WHEN role = 'normal' THEN row_no END) AS normal_row_no
        , min(CASE WHEN is_premature THEN row_no END) AS premature_row_no
        , min(CASE WHEN role = 'not_scored' THEN row_no END) AS noise_row_no
        , min(CASE WHEN bad_signal_quality THEN row_no END) AS flagged_row_no
    FROM vitaldb.annotation_v0
    GROUP BY case_id, start_s
)

, extents AS (
    SELECT
        case_id
        , min(start_s) AS first_s
        , max(start_s) AS last_s
    FROM tallies
    GROUP BY case_id
)

, grid AS (
    SELECT
        extents.case_id
        , CAST(step.start_s AS INTEGER) AS start_s
        , params.grid_s AS duration_s
    FROM extents
    CROSS JOIN params
    CROSS JOIN range(extents.first_s, extents.last_s + 1, params.grid_s) AS step (start_s)
)

SELECT
    grid.case_id
    , grid.start_s
    , grid.duration_s
    , coalesce(tallies.rows_in, 0) AS rows_in
    , coalesce(tallies.beats, 0) AS beats
    , coalesce(tallies.premature_beats, 0) AS premature_beats
    , coalesce(tallies.noise_rows, 0) AS noise_rows
    , coalesce(tallies.flagged_rows, 0) AS flagged_rows
    , coalesce(tallies.rhythm_rows, 0) AS rhythm_rows
    , tallies.normal_row_no
    , tallies.premature_row_no
    , tallies.noise_row_no
    , tallies.flagged_row_no
FROM grid
LEFT JOIN tallies ON grid.case_id = tallies.case_id AND grid.start_s = tallies.start_s
