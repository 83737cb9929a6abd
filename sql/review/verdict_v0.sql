-- review.verdict v0
-- layer: evidence
-- grain: verdict_no
-- shard: none
-- stored: no
-- status: draft
-- source: what readers said of labels (`review add`, `review import`)
--
-- A row a verdict. The verdict that counts is a reader's latest on an instance and a class: accepted; those that it
-- replaces stay, with the reason 'later_verdict'. Of two at one moment the one stored later counts.
--
-- reader_says is what the reader holds to be right, whatever the label became since: the label seen where the reader
-- agreed, the opposite where not. No label view reads this: a verdict is evidence beside the label, no part of it.

WITH ordered AS (
    SELECT
        verdict_no
        , task
        , instance_id
        , class
        , reader
        , agree
        , label_seen
        , reason
        , verdict_at
        , label_rule
        , source_file
        , row_no
        , row_number() OVER (
            PARTITION BY task, instance_id, class, reader
            ORDER BY verdict_at DESC, verdict_no DESC
        ) AS place
    FROM raw_review.verdict
)

SELECT
    verdict_no
    , task
    , instance_id
    , class
    , reader
    , agree
    , label_seen
    , agree = label_seen AS reader_says
    , place = 1 AS accepted
    , CASE WHEN place > 1 THEN 'later_verdict' END AS reason
    , reason AS said
    , verdict_at
    , label_rule
    , source_file
    , row_no
FROM ordered
