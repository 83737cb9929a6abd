-- lydus.dx_statement v0
-- layer: staging
-- grain: statement_id
-- shard: none
-- stored: yes
-- status: draft
-- source: matching grammar 1 and 2; map.lydus_line_pattern; ambiguities 18 and 25
--
-- Every distinct statement in its two normal forms, and what kind of line it is. All rules read this: once a
-- statement, not once a line.
--
--   line_key  only [0-9a-z*/] of the lower-case wording: for equality with whole lines, where spacing, case and
--             punctuation other than * and / do not count
--   said      words parted by one blank: for phrases. Full stops, commas, colons, brackets, asterisks, slashes and
--             hyphens are blanks, apostrophes vanish, semicolons and question marks are words. "A-V" is av,
--             "non-specific" nonspecific, "infarction" infarct, "&" and, "first" 1st; beats and contractions are
--             complexes; "-or-" is either_or
--
-- opens_section: "When compared with ECG of" stands in the line, and `said` ends before it. is_comparison: a verb of
-- comparison stands in `said`. is_remark: a critical-value header or a signature, which repeat or name somebody. None
-- of them gives a label. is_empty: nothing but punctuation.

WITH punctuated AS (
    SELECT
        statement_id
        , lines
        , wording
        , translate(
            replace(replace(replace(replace(wording, '-or-', ' either_or '), '&', ' and '), ';', ' ; '), '?', ' ? ')
            , ',.:()[]{}*/\+=<>|-"''`´’‘'
            , '                  '
        ) AS said
    FROM lydus.dx_text_v0
    WHERE wording IS NOT NULL
)

-- One blank between words and at both ends (as in lydus.dx_text).
, spaced AS (
    SELECT
        statement_id
        , lines
        , wording
        , ' ' || trim(
            replace(
                replace(replace(said, ' ', chr(1) || chr(2)), chr(2) || chr(1), '')
                , chr(1) || chr(2)
                , ' '
            )
        ) || ' ' AS said
    FROM punctuated
)

, numbered AS (
    SELECT
        statement_id
        , lines
        , wording
        , replace(replace(replace(said, ' first ', ' 1st '), ' second ', ' 2nd '), ' third ', ' 3rd ') AS said
    FROM spaced
)

, joined AS (
    SELECT
        statement_id
        , lines
        , wording
        , replace(
            replace(
                replace(replace(said, ' a v ', ' av '), ' non specific ', ' nonspecific ')
                , ' intra ventricular '
                , ' intraventricular '
            )
            , ' pre excitation '
            , ' preexcitation '
        ) AS said
    FROM numbered
)

, spelled AS MATERIALIZED (
    SELECT
        statement_id
        , lines
        , wording
        , replace(
            replace(
                replace(
                    replace(replace(said, 'infarction', 'infarct'), 'ischaemi', 'ischemi')
                    , ' abnormalities '
                    , ' abnormality '
                )
                , ' contractions '
                , ' complexes '
            )
            , ' beats '
            , ' complexes '
        ) AS said
    FROM joined
)

, openings AS (
    SELECT
        spelled.statement_id
        , min(strpos(spelled.said, replace(pattern.pattern, '%', ''))) AS letter
    FROM spelled
    INNER JOIN map.lydus_line_pattern AS pattern ON spelled.said LIKE pattern.pattern
    WHERE pattern.kind = 'section'
    GROUP BY spelled.statement_id
)

, heads AS MATERIALIZED (
    SELECT
        spelled.statement_id
        , spelled.lines
        , spelled.wording
        , substr(spelled.said, 1, coalesce(openings.letter, length(spelled.said))) AS said
        , openings.letter IS NOT NULL AS opens_section
        , spelled.said = '  ' AS is_empty
    FROM spelled
    LEFT JOIN openings ON spelled.statement_id = openings.statement_id
)

, remarks AS (
    SELECT
        heads.statement_id
        , bool_or(pattern.kind = 'comparison') AS is_comparison
        , bool_or(pattern.kind = 'remark') AS is_remark
    FROM heads
    INNER JOIN map.lydus_line_pattern AS pattern ON heads.said LIKE pattern.pattern
    GROUP BY heads.statement_id
)

SELECT
    heads.statement_id
    , heads.lines
    , heads.wording
    , translate(heads.wording, translate(heads.wording, '0123456789abcdefghijklmnopqrstuvwxyz*/', ''), '') AS line_key
    , trim(heads.said) AS said
    , heads.opens_section
    , coalesce(remarks.is_comparison, FALSE) AS is_comparison
    , coalesce(remarks.is_remark, FALSE) AS is_remark
    , heads.is_empty
FROM heads
LEFT JOIN remarks ON heads.statement_id = remarks.statement_id
