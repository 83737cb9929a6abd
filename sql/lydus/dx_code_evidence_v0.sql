-- lydus.dx_code_evidence v0
-- layer: evidence
-- grain: statement_id, place, code
-- shard: none
-- stored: no
-- status: draft
-- source: map.dx_phrase, map.dx_code; matching grammar 2 to 6
--
-- The SNOMED CT codes of a statement, a row a finding and code, accepted or with every reason against it. Findings
-- without a code in the Challenge 2021 tables have no row. A code may have no class.
--
-- Beside the reasons of lydus.dx_finding: serial_comparison (a verb of comparison stands in the line) and
-- header_or_signature (the line repeats or names somebody). Whether it stands in the comparison section is its
-- record's matter: lydus.class_evidence.

WITH codes AS (
    SELECT
        finding.statement_id
        , finding.place
        , finding.phrase
        , CAST(code.code AS BIGINT) AS code
        , finding.reason
    FROM lydus.dx_finding_v0 AS finding
    CROSS JOIN unnest(string_split(finding.codes, ' ')) WITH ORDINALITY AS code (code, place)
    WHERE finding.codes IS NOT NULL
)

, refused AS (
    SELECT
        codes.statement_id
        , codes.place
        , codes.phrase
        , codes.code
        , nullif(
            concat_ws(
                ' + '
                , CASE WHEN statement.is_comparison THEN 'serial_comparison' END
                , CASE WHEN statement.is_remark THEN 'header_or_signature' END
                , codes.reason
            ), ''
        ) AS reason
    FROM codes
    INNER JOIN lydus.dx_statement_v0 AS statement ON codes.statement_id = statement.statement_id
)

SELECT
    refused.statement_id
    , refused.place
    , refused.code
    , refused.phrase
    , known.class
    , refused.reason IS NULL AS accepted
    , refused.reason
FROM refused
LEFT JOIN map.dx_code AS known ON refused.code = known.code
