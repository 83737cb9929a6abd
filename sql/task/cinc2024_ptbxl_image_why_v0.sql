-- task.cinc2024_ptbxl_image_why v0
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0; map.ptbxl_superclass, map.ptbxl_code, map.ptbxl_acute_statement, map.ptbxl_reason
--
-- Why a record has its classes: every row of ptbxl.class_evidence with the code's own description, its likelihood, what
-- the maps make of it, and a sentence. first_row and last_row are the record's line in PTB-XL's table; what comes from
-- the 12SL statements has none. Nothing is decided here. A record without any candidate has one row, rule no_candidate.

WITH evidence AS (
    SELECT
        task.instance_id
        , task.record_id
        , fact.class
        , fact.kind
        , fact.rule
        , fact.value
        , fact.likelihood
        , fact.accepted
        , fact.reason
    FROM ptbxl.class_evidence_v0 AS fact
    INNER JOIN task.cinc2024_ptbxl_image_v0 AS task ON fact.ecg_id = task.record_id

    UNION ALL
    SELECT
        task.instance_id
        , task.record_id
        , 'any' AS class
        , 'exclusion' AS kind
        , 'no_candidate' AS rule
        , NULL AS value
        , NULL AS likelihood
        , FALSE AS accepted
        , 'no_candidate' AS reason
    FROM task.cinc2024_ptbxl_image_v0 AS task
    LEFT JOIN ptbxl.class_evidence_v0 AS fact ON task.record_id = fact.ecg_id
    WHERE fact.ecg_id IS NULL
)

, statements AS (
    SELECT
        given.ecg_id
        , trim(part.acronym) AS acronym
        , min(given.statement_no) AS statement_no
        , min(given.text) AS text
    FROM raw_ptbxl.statement_12sl AS given
    CROSS JOIN unnest(string_split(given.acronym, ';')) WITH ORDINALITY AS part (acronym, place)
    GROUP BY given.ecg_id, trim(part.acronym)
)

, facts AS (
    SELECT
        evidence.instance_id
        , evidence.record_id
        , evidence.class
        , evidence.kind
        , evidence.rule
        , evidence.value
        , evidence.accepted
        , evidence.reason
        , given.statement_no
        , record.source_file
        , CASE WHEN evidence.rule <> 'statement_12sl' THEN record.row_no END AS row_no
        , CASE
            WHEN evidence.rule = 'statement_12sl' THEN given.text
            WHEN evidence.rule <> 'no_candidate' THEN evidence.value || ': ' || evidence.likelihood
        END AS said
        , CASE evidence.rule
            WHEN 'superclass' THEN 'ptbxl_superclass: ' || statement.diagnostic_class || ', ' || evidence.class
            WHEN 'code' THEN 'ptbxl_code: ' || evidence.value || ', ' || evidence.class
            WHEN 'statement_12sl' THEN 'ptbxl_acute_statement: ' || given.statement_no || ', ' || evidence.value
        END AS map_row
        , CASE evidence.rule
            WHEN 'superclass'
                THEN
                    'the code ' || evidence.value || ' (' || statement.description || ', likelihood '
                    || evidence.likelihood || ') is of superclass ' || statement.diagnostic_class
            WHEN 'code'
                THEN
                    'the code ' || evidence.value || coalesce(' (' || statement.description || ')', '')
                    || ' stands in the record'
            WHEN 'statement_12sl'
                THEN
                    'the 12SL statement ' || given.statement_no || ' (' || evidence.value || ') says "' || given.text
                    || '"'
        END AS detail
        , reason.meaning
    FROM evidence
    INNER JOIN raw_ptbxl.record AS record ON evidence.record_id = record.ecg_id
    LEFT JOIN raw_ptbxl.scp_statement AS statement
        ON evidence.rule IN ('superclass', 'code') AND evidence.value = statement.code
    LEFT JOIN statements AS given
        ON evidence.rule = 'statement_12sl'
        AND evidence.record_id = given.ecg_id
        AND evidence.value = given.acronym
    LEFT JOIN map.ptbxl_reason AS reason ON evidence.reason = reason.reason
)

SELECT
    instance_id
    , concat_ws(' ', kind, rule, class, value) AS evidence
    , record_id
    , class
    , kind
    , rule
    , value
    , accepted
    , reason
    , 'ptbxl.class_evidence_v0' AS view
    , CASE rule
        WHEN 'statement_12sl' THEN 'statement'
        WHEN 'no_candidate' THEN 'record'
        ELSE 'code'
    END AS source
    , CAST(coalesce(statement_no, 0) AS BIGINT) AS source_no
    , CASE WHEN rule <> 'statement_12sl' THEN source_file END AS source_file
    , row_no AS first_row
    , row_no AS last_row
    , said
    , map_row
    , CASE
        WHEN detail IS NULL THEN upper(substr(meaning, 1, 1)) || substr(meaning, 2)
        WHEN kind = 'exclusion'
            THEN
                upper(substr(detail, 1, 1)) || substr(detail, 2) || '. It takes ' || class || ' from the record ('
                || meaning || ')'
        ELSE upper(substr(detail, 1, 1)) || substr(detail, 2) || ': class ' || class
    END || '.' AS words
FROM facts
