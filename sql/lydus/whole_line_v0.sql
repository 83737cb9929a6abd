-- lydus.whole_line v0
-- layer: evidence
-- grain: statement_id
-- shard: none
-- stored: no
-- status: draft
-- source: map.lydus_whole_line; lydus-ecg-image@0, label.classes, exclusions; ambiguities 12, 13, 16, 25 and 27
--
-- Statements that are, as a whole, one of the listed texts: the eight Acute MI statements of the Challenge that
-- PTB-XL+'s table holds, the older wording that the published spec adds, the two NORM statements, the wordings of no
-- analysis. Equality of line_key, never containment: "Abnormal ECG" contains "normal ECG", and "ST elevation,
-- consider early repolarization" begins statement 902.
--
-- The Challenge lists 822, 823, 827, 829, 904 and 968 too; their texts are in no table, its own script skips them,
-- and so does this (ambiguity 12). A site that knows them adds rows to the map.

SELECT
    statement.statement_id
    , line.kind
    , line.statement_no
    , line.text
FROM lydus.dx_statement_v0 AS statement
INNER JOIN map.lydus_whole_line AS line ON statement.line_key = line.key
