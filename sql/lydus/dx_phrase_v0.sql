-- lydus.dx_phrase v0
-- layer: staging
-- grain: phrase
-- shard: none
-- stored: no
-- status: draft
-- source: map.dx_phrase, map.dx_hedge
--
-- The dictionary of phrases: what the maps say, hedges among them, with the first word and the numbers of words and
-- letters that matching needs. `codes` are SNOMED CT codes parted by blanks.
--
--   finding, infarct   what is stated; a finding without codes is known and has none in the Challenge 2021 tables
--   hedged             a finding whose own words take it back
--   age                old, acute, new: belongs to an infarct before it, else it is no word of ours
--   hedge, negation    cover every finding to their right, up to a reset; hedge_source is seed or clinical
--   reset              with, semicolon          or       hedges what follows a finding
--   either             covers its whole clause  summary  the verdict on the ECG, which whole lines alone give
--   filler             words that change nothing

WITH phrases AS (
    SELECT
        phrase
        , kind
        , CAST(codes AS VARCHAR) AS codes
        , CAST(NULL AS VARCHAR) AS hedge_source
    FROM map.dx_phrase

    UNION ALL
    SELECT
        phrase
        , 'hedge' AS kind
        , NULL AS codes
        , source AS hedge_source
    FROM map.dx_hedge
)

SELECT
    phrase
    , kind
    , codes
    , hedge_source
    , split_part(phrase, ' ', 1) AS first_word
    , length(phrase) AS letters
    , length(phrase) - length(replace(phrase, ' ', '')) + 1 AS words
FROM phrases
