-- lydus.unmapped_line v0
-- layer: report
-- grain: statement_id
-- shard: none
-- stored: no
-- status: draft
-- source: matching grammar 7
--
-- Statements with words that no phrase covers, with those words and the lines they stand in: what to add to
-- map.dx_phrase next. Lines of comparison and remarks are not counted. Nothing here was guessed.

WITH counts AS (
    SELECT
        statement_id
        , count(*) AS lines
    FROM lydus.line_verdict_v0
    WHERE unmapped_words > 0
    GROUP BY statement_id
)

, words AS (
    SELECT
        statement_id
        , string_agg(word, ' ' ORDER BY place) AS words
    FROM lydus.dx_unmapped_v0
    GROUP BY statement_id
)

SELECT
    counts.statement_id
    , statement.wording
    , words.words
    , counts.lines
FROM counts
INNER JOIN words ON counts.statement_id = words.statement_id
INNER JOIN lydus.dx_statement_v0 AS statement ON counts.statement_id = statement.statement_id
