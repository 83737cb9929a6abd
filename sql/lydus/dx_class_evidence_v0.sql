-- lydus.dx_class_evidence v0
-- layer: evidence
-- grain: statement_id, class, kind, place, value
-- shard: none
-- stored: yes
-- status: draft
-- source: lydus-ecg-image@0, label.classes; ambiguities 1 to 3, 7, 8, 11, 13, 16, 21 to 23; ours (acute_mi_code)
--
-- What a statement says for a class, wherever it stands. rule `code`: a code of the class; `whole_line`: the statement
-- is one of the listed texts. value is the code, or the listed statement's number ('older' for the older wording).
--
-- Candidates that only look like it are here with their reason: an acute infarct by its code in a line that is no
-- listed text (not_listed), a verdict "normal ECG" inside a longer line (part_of_line). An Acute MI line also excludes
-- Old MI from its record (kind exclusion): acute goes before old, and a hedge does not take Acute MI away.
--
-- Chosen: the 16 codes of CD and the five of HYP are those of map.dx_code (ambiguities 1 and 2); CD = 955 / 7,526 /
-- 965 and HYP = 131 / 1,033 / 90 on the real release can settle both.

WITH params AS (
    SELECT 57054005 AS acute_mi_code
)

, codes AS MATERIALIZED (
    SELECT *
    FROM lydus.dx_code_evidence_v0
)

, evidence AS (
    SELECT
        statement_id
        , class
        , 'candidate' AS kind
        , place
        , CAST(code AS VARCHAR) AS value
        , 'code' AS rule
        , phrase
        , reason
    FROM codes
    WHERE class IS NOT NULL

    UNION ALL
    SELECT
        line.statement_id
        , CASE WHEN line.kind = 'norm' THEN 'NORM' ELSE 'Acute MI' END AS class
        , 'candidate' AS kind
        , 0 AS place
        , coalesce(CAST(line.statement_no AS VARCHAR), 'older') AS value
        , 'whole_line' AS rule
        , line.text AS phrase
        , NULL AS reason
    FROM lydus.whole_line_v0 AS line
    WHERE line.kind IN ('norm', 'acute_mi', 'acute_mi_older')

    UNION ALL
    SELECT
        line.statement_id
        , 'Old MI' AS class
        , 'exclusion' AS kind
        , 0 AS place
        , coalesce(CAST(line.statement_no AS VARCHAR), 'older') AS value
        , 'whole_line' AS rule
        , line.text AS phrase
        , 'acute_mi' AS reason
    FROM lydus.whole_line_v0 AS line
    WHERE line.kind IN ('acute_mi', 'acute_mi_older')

    UNION ALL
    SELECT
        code.statement_id
        , 'Acute MI' AS class
        , 'candidate' AS kind
        , code.place
        , CAST(code.code AS VARCHAR) AS value
        , 'code' AS rule
        , code.phrase
        , concat_ws(' + ', code.reason, 'not_listed') AS reason
    FROM codes AS code
    INNER JOIN params ON code.code = params.acute_mi_code
    LEFT JOIN lydus.whole_line_v0 AS line
        ON code.statement_id = line.statement_id AND line.kind IN ('acute_mi', 'acute_mi_older')
    WHERE line.statement_id IS NULL

    UNION ALL
    SELECT
        hit.statement_id
        , 'NORM' AS class
        , 'candidate' AS kind
        , hit.place
        , 'phrase' AS value
        , 'whole_line' AS rule
        , hit.phrase
        , 'part_of_line' AS reason
    FROM lydus.dx_hit_v0 AS hit
    LEFT JOIN lydus.whole_line_v0 AS line ON hit.statement_id = line.statement_id AND line.kind = 'norm'
    WHERE hit.kind = 'summary' AND hit.accepted AND line.statement_id IS NULL
)

SELECT
    evidence.statement_id
    , evidence.class
    , evidence.kind
    , evidence.place
    , evidence.value
    , evidence.rule
    , evidence.phrase
    , statement.is_comparison
    , evidence.reason IS NULL AS accepted
    , evidence.reason
FROM evidence
INNER JOIN lydus.dx_statement_v0 AS statement ON evidence.statement_id = statement.statement_id
