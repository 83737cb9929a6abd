-- ptbxl.class_evidence v0
-- layer: evidence
-- grain: ecg_id, class, kind, rule, value
-- shard: ecg_id
-- stored: yes
-- status: draft
-- source: cinc2024-ptbxl-image@0, label; prepare_ptbxl_data.py of the Challenge 2024; ambiguities 12, 27 and 28
--
-- All that speaks for or against a class of a PTB-XL record, by the Challenge's own rules.
--
--   superclass      a diagnostic SCP code, by its superclass in scp_statements.csv (map.ptbxl_superclass)
--   code            a rhythm or beat code (map.ptbxl_code)
--   statement_12sl  one of the listed acute 12SL statements, where PTB-XL+'s are loaded; no infarct code is needed,
--                   and it takes Old MI from the record (kind exclusion)
--
-- Chosen: likelihood is never a threshold, as in the Challenge's script; 0 marks rhythm and form codes there, and
-- hedged statements count. An acronym is compared as a whole (a qualifier after a semicolon set aside), where the
-- script looks for it inside the cell's text: no acronym of the table holds another, so nothing changes.

WITH codes AS (
    SELECT
        scp.ecg_id
        , super.class
        , 'superclass' AS rule
        , scp.code AS value
        , scp.likelihood
    FROM raw_ptbxl.scp_code AS scp
    INNER JOIN raw_ptbxl.scp_statement AS statement ON scp.code = statement.code
    INNER JOIN map.ptbxl_superclass AS super ON statement.diagnostic_class = super.diagnostic_class
    WHERE statement.diagnostic

    UNION ALL
    SELECT
        scp.ecg_id
        , beat.class
        , 'code' AS rule
        , scp.code AS value
        , scp.likelihood
    FROM raw_ptbxl.scp_code AS scp
    INNER JOIN map.ptbxl_code AS beat ON scp.code = beat.code
)

, acute AS (
    SELECT DISTINCT
        given.ecg_id
        , listed.acronym
    FROM raw_ptbxl.statement_12sl AS given
    CROSS JOIN unnest(string_split(given.acronym, ';')) WITH ORDINALITY AS part (acronym, place)
    INNER JOIN map.ptbxl_acute_statement AS listed ON trim(part.acronym) = listed.acronym
)

SELECT
    ecg_id
    , class
    , 'candidate' AS kind
    , rule
    , value
    , likelihood
    , TRUE AS accepted
    , CAST(NULL AS VARCHAR) AS reason
FROM codes

UNION ALL
SELECT
    ecg_id
    , 'Acute MI' AS class
    , 'candidate' AS kind
    , 'statement_12sl' AS rule
    , acronym AS value
    , NULL AS likelihood
    , TRUE AS accepted
    , NULL AS reason
FROM acute

UNION ALL
SELECT
    ecg_id
    , 'Old MI' AS class
    , 'exclusion' AS kind
    , 'statement_12sl' AS rule
    , acronym AS value
    , NULL AS likelihood
    , FALSE AS accepted
    , 'acute_mi' AS reason
FROM acute
