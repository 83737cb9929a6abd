-- lydus.dx_word v0
-- layer: staging
-- grain: statement_id, place
-- shard: none
-- stored: no
-- status: draft
-- source: matching grammar 1
--
-- The words of a statement in order, each with the statement's tail from that word on, which phrases are
-- compared with. What stands after the opening of a comparison section is not among them.

WITH words AS (
    SELECT
        statement.statement_id
        , statement.said
        , CAST(word.place AS INTEGER) AS place
        , word.word
    FROM lydus.dx_statement_v0 AS statement
    CROSS JOIN unnest(string_split(statement.said, ' ')) WITH ORDINALITY AS word (word, place)
    WHERE statement.said <> ''
)

, lettered AS (
    SELECT
        statement_id
        , said
        , place
        , word
        , CAST(sum(length(word) + 1) OVER (PARTITION BY statement_id ORDER BY place) AS INTEGER) AS next_letter
    FROM words
)

SELECT
    statement_id
    , place
    , word
    , substr(said, next_letter - length(word)) AS tail
FROM lettered
