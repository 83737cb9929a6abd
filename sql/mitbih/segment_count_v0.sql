-- mitbih.segment_count v0
-- layer: report
-- grain: rule, class, reason
-- shard: none
-- stored: no
-- status: draft
-- source: mitbih.segment v0, by rule
--
-- How many segments each rule accepts of each class, what it refuses for which reason ('-' where there is none), and
-- of how many annotated beats they are.

SELECT
    rule
    , coalesce(class, '-') AS class
    , coalesce(reason, '-') AS reason
    , count(*) AS segments
    , count(DISTINCT CASE WHEN row_no > 0 THEN record_id || '_' || row_no END) AS beats
FROM mitbih.segment_v0
GROUP BY rule, coalesce(class, '-'), coalesce(reason, '-')
