-- lydus.line_verdict v0
-- layer: evidence
-- grain: record_id, line_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: matching grammar 2 and 7
--
-- What became of every line, in its original wording: `verdict` is class (an accepted candidate or exclusion), refused
-- (candidates, none accepted), comparison, remark, empty, known (stated, but of no class), unmapped (nothing known).
-- unmapped_words counts words that no phrase covers, whatever the verdict. For `why`, and for the share of E10.

WITH words AS (
    SELECT
        statement_id
        , count(*) AS unmapped_words
    FROM lydus.dx_unmapped_v0
    GROUP BY statement_id
)

, hits AS (
    SELECT
        statement_id
        , bool_or(kind IN ('finding', 'infarct', 'hedged', 'summary')) AS is_known
        , count(*) AS phrases
    FROM lydus.dx_hit_v0
    WHERE accepted
    GROUP BY statement_id
)

, classes AS (
    SELECT
        statement_id
        , bool_or(accepted OR kind = 'exclusion') AS is_class
    FROM lydus.dx_class_evidence_v0
    GROUP BY statement_id
)

SELECT
    line.record_id
    , line.line_no
    , wording.statement_id
    , original.text
    , CASE
        WHEN statement.is_empty THEN 'empty'
        WHEN line.line_no > section.line_no OR statement.is_comparison THEN 'comparison'
        WHEN statement.opens_section AND hits.phrases IS NULL AND words.unmapped_words IS NULL THEN 'comparison'
        WHEN statement.is_remark THEN 'remark'
        WHEN classes.is_class THEN 'class'
        WHEN classes.statement_id IS NOT NULL THEN 'refused'
        WHEN whole.statement_id IS NOT NULL OR hits.is_known THEN 'known'
        WHEN hits.phrases > 0 AND words.unmapped_words IS NULL THEN 'known'
        ELSE 'unmapped'
    END AS verdict
    , CASE
        WHEN line.line_no > section.line_no OR whole.statement_id IS NOT NULL THEN 0
        ELSE coalesce(words.unmapped_words, 0)
    END AS unmapped_words
FROM raw_lydus.dx_line AS line
INNER JOIN raw_lydus.dx_text AS original ON line.text_id = original.text_id
INNER JOIN lydus.dx_text_v0 AS wording ON line.text_id = wording.text_id
INNER JOIN lydus.dx_statement_v0 AS statement ON wording.statement_id = statement.statement_id
LEFT JOIN lydus.comparison_section_v0 AS section ON line.record_id = section.record_id
LEFT JOIN lydus.whole_line_v0 AS whole ON wording.statement_id = whole.statement_id
LEFT JOIN hits ON wording.statement_id = hits.statement_id
LEFT JOIN words ON wording.statement_id = words.statement_id
LEFT JOIN classes ON wording.statement_id = classes.statement_id
