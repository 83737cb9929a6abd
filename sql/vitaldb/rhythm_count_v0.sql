-- vitaldb.rhythm_count v0
-- layer: report
-- grain: rhythm
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, metrics.by_category
--
-- Scored segments per rhythm behind the label, over all parts. A segment with two abnormal rhythms counts in both.

SELECT
    word.rhythm
    , count(*) AS segments
    , count(DISTINCT label.case_id) AS cases
FROM vitaldb.segment_label_v0 AS label
CROSS JOIN unnest(string_split(label.rhythms, '|')) AS word (rhythm)
GROUP BY word.rhythm
