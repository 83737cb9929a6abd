-- lydus.exclusion v0
-- layer: evidence
-- grain: record_id, rule
-- shard: record_id
-- stored: yes
-- status: draft
-- source: lydus-ecg-image@0, exclusions; ambiguities 20 and 25
--
-- Why a record is left out of its part, a row a reason; a record can have two. Labels stay: a left-out record is not
-- used, whatever it says.
--
--   no_analysis  a line is, as a whole, a wording of "no analysis" (source_no is the line), or there is no line with a
--                word in it (source_no 0)
--   flat_signal  all stored leads are constant; known where signals are loaded
--
-- The real release has 2 and 1 of them among the sampled; its train part counts 15,999, so one has both.

WITH said AS (
    SELECT
        line.record_id
        , min(CASE WHEN whole.statement_id IS NOT NULL THEN line.line_no END) AS no_analysis_line_no
        , bool_and(statement.is_empty) AS is_empty
    FROM raw_lydus.dx_line AS line
    INNER JOIN lydus.dx_text_v0 AS wording ON line.text_id = wording.text_id
    INNER JOIN lydus.dx_statement_v0 AS statement ON wording.statement_id = statement.statement_id
    LEFT JOIN lydus.whole_line_v0 AS whole
        ON wording.statement_id = whole.statement_id AND whole.kind = 'no_analysis'
    GROUP BY line.record_id
)

SELECT
    record.record_id
    , 'no_analysis' AS rule
    , 'line' AS source
    , coalesce(said.no_analysis_line_no, 0) AS source_no
    , FALSE AS accepted
    , 'no_analysis' AS reason
FROM raw_lydus.record
LEFT JOIN said ON record.record_id = said.record_id
WHERE said.record_id IS NULL OR said.is_empty OR said.no_analysis_line_no IS NOT NULL

UNION ALL
SELECT
    record_id
    , 'flat_signal' AS rule
    , 'signal' AS source
    , 0 AS source_no
    , FALSE AS accepted
    , 'flat_signal' AS reason
FROM raw_lydus.signal_fact
WHERE flat
