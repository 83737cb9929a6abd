-- vitaldb.segment_rhythm v0
-- layer: evidence
-- grain: case_id, start_s, rhythm
-- shard: case_id
-- stored: yes
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, label.abnormal, label.normal, label.not_scored
--
-- The rhythms that the rows of a segment carry, with the first row and the number of rows. A row belongs to the
-- segment [start_s, start_s + 5) that holds its time stamp; rows without a rhythm say nothing here.

SELECT
    case_id
    , start_s
    , rhythm
    , role
    , min(row_no) AS first_row_no
    , CAST(count(*) AS INTEGER) AS rows_in
FROM vitaldb.annotation_v0
WHERE rhythm IS NOT NULL
GROUP BY case_id, start_s, rhythm, role
