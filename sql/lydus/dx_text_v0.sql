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

, once AS (
    SELECT
        text_id
        , lines
        , stamp <> '' AS is_dated
        , CASE WHEN stamp = '' THEN wording ELSE replace(wording, stamp, '') END AS wording
    FROM dated
)

, dated_again AS (
    SELECT
        text_id
        , lines
        , wording
        , CASE
            WHEN is_dated
                THEN regexp_extract(
                    wording
                    , '([0-9]{1,4}[-/.][0-9a-z]{1,9}[-/.][0-9]{2,4}|[0-9]{1,2} [a-z]{3,9} [0-9]{4})'
                    || '([ ,t]+[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[ap]m)?)?'
                )
            ELSE ''
        END AS stamp
    FROM once
)

, twice AS (
    SELECT
        text_id
        , lines
        , CASE WHEN stamp = '' THEN wording ELSE replace(wording, stamp, '') END AS wording
    FROM dated_again
)

-- Few wordings need it: a blank becomes a pair of marks that no line holds; pairs that touch vanish, the others
-- become a blank again.
, spaced AS MATERIALIZED (
    SELECT
        text_id
        , lines
        , CASE
            WHEN
                wording LIKE '%  %'
                OR wording LIKE ' %'
                OR wording LIKE '% '
                OR wording LIKE '%' || chr(9) || '%'
                OR wording LIKE '%' || chr(10) || '%'
                OR wording LIKE '%' || chr(13) || '%'
                THEN trim(
                    replace(
                        replace(
                            replace(translate(wording, chr(9) || chr(10) || chr(13), '   '), ' ', chr(1) || chr(2))
                            , chr(2) || chr(1)
                            , ''
                        )
                        , chr(1) || chr(2)
                        , ' '
                    )
                )
            ELSE wording
        END AS wording
    FROM twice
)

, statements AS (
    SELECT
        wording
        , min(text_id) AS statement_id
        , CAST(sum(lines) AS BIGINT) AS lines
    FROM spaced
    GROUP BY wording
)

SELECT
    spaced.text_id
    , statements.statement_id
    , CASE WHEN spaced.text_id = statements.statement_id THEN spaced.wording END AS wording
    , CASE WHEN spaced.text_id = statements.statement_id THEN statements.lines ELSE 0 END AS lines
FROM spaced
INNER JOIN statements ON spaced.wording = statements.wording
