-- lydus.class_evidence v0
-- layer: evidence
-- grain: record_id, line_no, class, kind, place, value
-- shard: record_id
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, label; matching grammar 2 and 8; ambiguity 18; ours (count_comparison_tinv)
--
-- All that speaks for or against a class of a record: the statements' evidence at the lines where they stand, a row a
-- candidate with every reason that refuses it (joined by ' + '). A candidate counts when nothing refuses it.
--
--   kind candidate   could give the record the class
--   kind exclusion   takes the class from the record whatever its candidates: an Acute MI line and Old MI
--
-- source_no is the line, place the word in its statement (0: the whole line), value the code or the listed statement.
-- An exclusion that stands in the comparison section does not exclude and has no row.
--
-- Chosen (ambiguity 18): lines of comparison never give a label. count_comparison_tinv TRUE lets a T wave inversion
-- count there; the STTC sources 277, 326, 80 of the real test part can settle it.

WITH params AS (
    SELECT FALSE AS count_comparison_tinv
)

, lines AS (
    SELECT
        line.record_id
        , line.line_no
        , wording.statement_id
        , coalesce(line.line_no > section.line_no, FALSE) AS in_section
    FROM raw_lydus.dx_line AS line
    INNER JOIN lydus.dx_text_v0 AS wording ON line.text_id = wording.text_id
    LEFT JOIN lydus.comparison_section_v0 AS section ON line.record_id = section.record_id
)

, refused AS (
    SELECT
        lines.record_id
        , lines.line_no
        , lines.statement_id
        , said.class
        , said.kind
        , said.rule
        , said.place
        , said.value
        , said.phrase
        , CASE
            WHEN lines.in_section AND NOT said.is_comparison THEN concat_ws(' + ', 'serial_comparison', said.reason)
            ELSE said.reason
        END AS reason
    FROM lines
    INNER JOIN lydus.dx_class_evidence_v0 AS said ON lines.statement_id = said.statement_id
    WHERE said.kind = 'candidate' OR NOT lines.in_section
)

, judged AS (
    SELECT
        refused.record_id
        , refused.line_no
        , refused.statement_id
        , refused.class
        , refused.kind
        , refused.rule
        , refused.place
        , refused.value
        , refused.phrase
        , CASE
            WHEN
                params.count_comparison_tinv
                AND refused.value = '59931005'
                AND refused.reason = 'serial_comparison'
                THEN NULL
            ELSE refused.reason
        END AS reason
    FROM refused
    CROSS JOIN params
)

SELECT
    record_id
    , line_no
    , class
    , kind
    , place
    , value
    , rule
    , 'line' AS source
    , line_no AS source_no
    , statement_id
    , phrase
    , reason IS NULL AS accepted
    , reason
FROM judged
