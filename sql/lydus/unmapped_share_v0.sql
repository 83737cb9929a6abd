-- lydus.unmapped_share v0
-- layer: audit
-- grain: lines
-- shard: none
-- stored: no
-- status: draft
-- source: import contract E10; ours (max_unmapped_share)
--
-- E10: more than 5 % of the lines hold words that nobody knows. Lines of comparison, remarks and empty lines are not
-- among the lines asked. lydus.unmapped_line lists the statements; add phrases to map.dx_phrase.

WITH params AS (
    SELECT 0.05 AS max_unmapped_share
)

, counts AS (
    SELECT
        count(*) AS lines
        , count(CASE WHEN unmapped_words > 0 THEN 1 END) AS unmapped_lines
    FROM lydus.line_verdict_v0
    WHERE verdict NOT IN ('comparison', 'remark', 'empty')
)

SELECT
    counts.lines
    , counts.unmapped_lines
FROM counts
CROSS JOIN params
WHERE counts.unmapped_lines > counts.lines * params.max_unmapped_share
