-- lydus.dx_text v0
-- layer: staging
-- grain: text_id
-- shard: none
-- stored: yes
-- status: draft
-- source: matching grammar 1 and 3; the shapes of dates are ours
--
-- Wordings without their dates. Most lines of a release differ by a date alone: "(cited on or before
-- 14-FEB-2011)", "When compared with ECG of 01-APR-2015 09:30". Lower case, up to two dates with their times
-- taken out, runs of blanks made one; what is then equal is one statement, and its id is its smallest text_id.
--
-- Only the row of that smallest id carries the wording (NULL elsewhere), and `lines` counts the release's lines.
-- The raw text keeps its date: nothing is lost for `why`.

WITH dated AS (
    SELECT
        text_id
        , lines
        , lower(text) AS wording
        , regexp_extract(
            lower(text)
            , '([0-9]{1,4}[-/.][0-9a-z]{1,9}[-/.][0-9]{2,4}|[0-9]{1,2} [a-z]{3,9} [0-9]{4})'
            || '([ ,t]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[ap]m)?)?'
        ) AS stamp
    FROM raw_lydus.dx_text
)

, once AS MATERIALIZED (
    SELECT
        text_id
        , lines
        , CASE WHEN stamp = '' THEN wording ELSE replace(wording, stamp, '') END AS wording
    FROM dated
)

-- The rest is done on few: a second date is rare, and so are runs of blanks.
, distinct_once AS (
    SELECT
        wording
        , min(text_id) AS first_id
        , CAST(sum(lines) AS BIGINT) AS lines
        , regexp_extract(
            wording
            , '([0-9]{1,4}[-/.][0-9a-z]{1,9}[-/.][0-9]{2,4}|[0-9]{1,2} [a-z]{3,9} [0-9]{4})'
            || '([ ,t]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[ap]m)?)?'
        ) AS stamp
    FROM once
    GROUP BY wording
)

, undated AS (
    SELECT
        wording
        , first_id
        , lines
        , translate(
            CASE WHEN stamp = '' THEN wording ELSE replace(wording, stamp, '') END
            , chr(9) || chr(10) || chr(13)
            , '   '
        ) AS tidy
    FROM distinct_once
)

-- A blank becomes a pair of marks that no line holds; pairs that touch vanish, the others become a blank again.
, spaced AS MATERIALIZED (
    SELECT
        wording
        , first_id
        , lines
        , trim(
            replace(
                replace(replace(tidy, ' ', chr(1) || chr(2)), chr(2) || chr(1), '')
                , chr(1) || chr(2)
                , ' '
            )
        ) AS tidy
    FROM undated
)

, statements AS (
    SELECT
        tidy
        , min(first_id) AS statement_id
        , CAST(sum(lines) AS BIGINT) AS lines
    FROM spaced
    GROUP BY tidy
)

, known AS (
    SELECT
        spaced.wording
        , statements.statement_id
        , statements.tidy
        , statements.lines
    FROM spaced
    INNER JOIN statements ON spaced.tidy = statements.tidy
)

SELECT
    once.text_id
    , known.statement_id
    , CASE WHEN once.text_id = known.statement_id THEN known.tidy END AS wording
    , CASE WHEN once.text_id = known.statement_id THEN known.lines ELSE 0 END AS lines
FROM once
INNER JOIN known ON once.wording = known.wording
