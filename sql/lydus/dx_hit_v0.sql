-- lydus.dx_hit v0
-- layer: evidence
-- grain: statement_id, place
-- shard: none
-- stored: yes
-- status: draft
-- source: matching grammar 3, 4 and 7
--
-- The phrases of a statement: at every word the longest phrase of the dictionary that begins there, from left to
-- right. A phrase inside a longer one that began earlier is part of it and no hit: "bundle branch block" in
-- "incomplete right bundle branch block".
--
-- Refused, and their words reported as unmapped instead of guessed:
--   overlap     begins inside an earlier phrase and ends beyond it
--   no_infarct  old, acute or new without an infarct before it ("acute pulmonary embolism" is no infarct)

WITH words AS (
    SELECT
        statement_id
        , place
        , word
        , tail || ' ' AS tail
    FROM lydus.dx_word_v0
)

, phrases AS (
    SELECT
        phrase
        , phrase || ' ' AS spelled
        , first_word
        , words
        , kind
        , codes
        , hedge_source
    FROM lydus.dx_phrase_v0
)

, candidates AS (
    SELECT
        word.statement_id
        , word.place
        , word.place + phrase.words - 1 AS last_place
        , phrase.phrase
        , phrase.kind
        , phrase.codes
        , phrase.hedge_source
        , row_number() OVER (PARTITION BY word.statement_id, word.place ORDER BY phrase.words DESC) AS choice
    FROM words AS word
    INNER JOIN phrases AS phrase ON word.word = phrase.first_word AND starts_with(word.tail, phrase.spelled)
)

, longest AS (
    SELECT
        statement_id
        , place
        , last_place
        , phrase
        , kind
        , codes
        , hedge_source
        , coalesce(max(last_place) OVER earlier, 0) AS reach
        , max(CASE WHEN kind = 'infarct' THEN place END) OVER earlier AS infarct_place
    FROM candidates
    WHERE choice = 1
    WINDOW earlier AS (
        PARTITION BY statement_id ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)

, verdicts AS (
    SELECT
        statement_id
        , place
        , last_place
        , phrase
        , kind
        , codes
        , hedge_source
        , CASE
            WHEN reach >= place THEN 'overlap'
            WHEN kind = 'age' AND infarct_place IS NULL THEN 'no_infarct'
        END AS reason
    FROM longest
    WHERE reach < last_place
)

SELECT
    statement_id
    , place
    , last_place
    , phrase
    , kind
    , codes
    , hedge_source
    , reason IS NULL AS accepted
    , reason
FROM verdicts
