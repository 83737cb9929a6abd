-- review.reader v0
-- layer: report
-- grain: task, class, reader
-- shard: none
-- stored: no
-- status: draft
-- source: what readers said of labels (`review add`, `review import`)
--
-- How many verdicts of a reader on a class of a task count, with how many of the labels seen the reader agreed, and how
-- many verdicts the reader replaced since. Agreement with today's labels, with kappa, is what `counts` shows.

SELECT
    task
    , class
    , reader
    , count(CASE WHEN accepted THEN 1 END) AS verdicts
    , count(CASE WHEN accepted AND agree THEN 1 END) AS agreed
    , count(CASE WHEN accepted AND NOT agree THEN 1 END) AS disagreed
    , count(CASE WHEN NOT accepted THEN 1 END) AS replaced
    , min(verdict_at) AS first_at
    , max(verdict_at) AS last_at
FROM review.verdict_v0
GROUP BY task, class, reader
