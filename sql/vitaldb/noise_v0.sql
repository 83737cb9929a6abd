-- vitaldb.noise v0
-- layer: evidence
-- grain: case_id, row_no
-- shard: case_id
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, label.not_scored; deviation noise
--
-- Rows annotated as noise: a statement on the signal that stands in the rhythm column. Such a row never has a beat.

SELECT
    case_id
    , row_no
    , start_s
    , time_s
    , bad_signal_quality
FROM vitaldb.annotation_v0
WHERE role = 'not_scored'
