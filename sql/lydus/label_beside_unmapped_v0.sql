-- lydus.label_beside_unmapped v0
-- layer: report
-- grain: class
-- shard: none
-- stored: no
-- status: draft
-- source: matching grammar 7
--
-- What hangs on the choice that a word nobody knows does not refuse the findings beside it: records of the release
-- that have a class from lines with unmapped words alone. A misspelt hedge or denial would be among them.

WITH labels AS (
    SELECT
        evidence.record_id
        , evidence.class
        , bool_and(line.unmapped_words > 0) AS beside_unmapped
    FROM lydus.class_evidence_v0 AS evidence
    INNER JOIN lydus.record_class_v0 AS label
        ON evidence.record_id = label.record_id AND evidence.class = label.class
    INNER JOIN lydus.line_verdict_v0 AS line
        ON evidence.record_id = line.record_id AND evidence.line_no = line.line_no
    WHERE evidence.accepted
    GROUP BY evidence.record_id, evidence.class
)

SELECT
    class
    , count(*) AS records
    , count(CASE WHEN beside_unmapped THEN 1 END) AS beside_unmapped
FROM labels
GROUP BY class
