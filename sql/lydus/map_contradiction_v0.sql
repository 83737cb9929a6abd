-- lydus.map_contradiction v0
-- layer: audit
-- grain: source, entry
-- shard: none
-- stored: no
-- status: draft
-- source: map.dx_phrase, map.dx_hedge, map.dx_code, map.lydus_whole_line
--
-- Entries of the maps that contradict each other: a phrase, a code or a whole line that stands twice, a phrase with a
-- code that map.dx_code does not hold. With one of them the labels would hang on the order of rows.

WITH entries AS (
    SELECT
        'phrase' AS source
        , phrase AS entry
    FROM lydus.dx_phrase_v0

    UNION ALL
    SELECT
        'code' AS source
        , CAST(code AS VARCHAR) AS entry
    FROM map.dx_code

    UNION ALL
    SELECT
        'whole_line' AS source
        , key AS entry
    FROM map.lydus_whole_line
)

, codes AS (
    SELECT
        phrase.phrase
        , code.code
    FROM lydus.dx_phrase_v0 AS phrase
    CROSS JOIN unnest(string_split(phrase.codes, ' ')) WITH ORDINALITY AS code (code, place)
    WHERE phrase.codes IS NOT NULL
)

SELECT
    source
    , entry
    , 'stands twice' AS fault
FROM entries
GROUP BY source, entry
HAVING count(*) > 1

UNION ALL
SELECT DISTINCT
    'phrase' AS source
    , codes.phrase || ': ' || codes.code AS entry
    , 'unknown code' AS fault
FROM codes
LEFT JOIN map.dx_code AS known ON codes.code = CAST(known.code AS VARCHAR)
WHERE known.code IS NULL
