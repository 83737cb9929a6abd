-- lydus.comparison_section v0
-- layer: evidence
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: matching grammar 2; ambiguity 18
--
-- Where the comparison with an earlier ECG begins: the record's first line with "When compared with ECG of". After
-- it, to the record's end, no line gives a label. It is a matter of the record, so it stays out of the statements;
-- what stands before the words in the line itself, two lines run together, still counts.

SELECT
    line.record_id
    , min(line.line_no) AS line_no
FROM raw_lydus.dx_line AS line
INNER JOIN lydus.dx_text_v0 AS wording ON line.text_id = wording.text_id
INNER JOIN lydus.dx_statement_v0 AS statement ON wording.statement_id = statement.statement_id
WHERE statement.opens_section
GROUP BY line.record_id
