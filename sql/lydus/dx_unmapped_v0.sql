-- lydus.dx_unmapped v0
-- layer: evidence
-- grain: statement_id, place
-- shard: none
-- stored: no
-- status: draft
-- source: matching grammar 7
--
-- Words of a statement that no accepted phrase covers. They are reported, never guessed; the phrases around them
-- stand. Chosen so because the sheet says so; lydus.label_beside_unmapped counts what hangs on it (a misspelt hedge is
-- such a word). Lines of comparison and remarks are not asked.

SELECT
    word.statement_id
    , word.place
    , word.word
FROM lydus.dx_word_v0 AS word
INNER JOIN lydus.dx_statement_v0 AS statement ON word.statement_id = statement.statement_id
LEFT JOIN lydus.dx_hit_v0 AS hit
    ON word.statement_id = hit.statement_id
    AND word.place BETWEEN hit.place AND hit.last_place
    AND hit.accepted
WHERE hit.statement_id IS NULL AND NOT statement.is_comparison AND NOT statement.is_remark
