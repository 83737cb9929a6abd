-- vitaldb.signal_quality v0
-- layer: evidence
-- grain: case_id, start_s
-- shard: case_id
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, bad_signal_quality; deviation bad_signal_quality
--
-- Segments with anything that speaks of bad signal quality. The rule is `flagged`: a row in the segment carries
-- the file's own flag. by_number and in_sequence say whether a stretch of vitaldb.quality_interval touches the
-- segment.
--
-- Chosen: the rows' flag. On scored segments of the real files it equals the pairing by number (1,741 abnormal,
-- 2,107 normal); pairing in sequence would flag 1,766 and 2,178.

WITH touches AS (
    SELECT
        segment.case_id
        , segment.start_s
        , bool_or(stretch.pairing = 'number') AS by_number
        , bool_or(stretch.pairing = 'sequence') AS in_sequence
    FROM vitaldb.segment_v0 AS segment
    INNER JOIN vitaldb.quality_interval_v0 AS stretch
        ON segment.case_id = stretch.case_id
        AND segment.start_s < stretch.to_s
        AND segment.start_s + segment.duration_s > stretch.from_s
    WHERE stretch.accepted
    GROUP BY segment.case_id, segment.start_s
)

SELECT
    segment.case_id
    , segment.start_s
    , segment.flagged_row_no
    , segment.flagged_rows
    , segment.flagged_rows > 0 AS flagged
    , coalesce(touches.by_number, FALSE) AS by_number
    , coalesce(touches.in_sequence, FALSE) AS in_sequence
FROM vitaldb.segment_v0 AS segment
LEFT JOIN touches ON segment.case_id = touches.case_id AND segment.start_s = touches.start_s
WHERE segment.flagged_rows > 0 OR touches.case_id IS NOT NULL
