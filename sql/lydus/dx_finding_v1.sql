-- lydus.dx_finding v1
-- layer: evidence
-- grain: statement_id, place
-- shard: none
-- stored: no
-- status: draft
-- source: the four hedges that lydus-ecg-image@0, label.hedges names; else as v0; ours (hedge_digitalis)
--
-- What a statement states, and whether it states it outright, when only the words that the published spec names hedge:
-- "possible", "cannot rule out", "consider", "suspected". v0 takes every word of map.dx_hedge, most of them our own
-- additions of the same kind (hedge_source clinical). "Probable left ventricular hypertrophy" is a finding here.
--
-- Reasons, joined by ' + ' where several hold; a finding is definite when none does:
--   negated          behind a denial ("no", "without")
--   hedged_seed      behind a hedge that the published spec names
--   either_or        in a clause with "-or-" or a question mark: neither side is named outright (ambiguity 30)
--   or_alternative   after "or" behind a definite finding
--
-- The other hedges are still read as phrases, so that nothing else becomes unmapped.
--
-- Chosen: a finding whose own words take it back (kind hedged: "junctional ST depression, probably normal") is stated
-- outright here, since the words that do it are none of the four.

WITH params AS (
    SELECT FALSE AS hedge_digitalis
)

, clauses AS (
    SELECT
        statement_id
        , place
        , phrase
        , kind
        , codes
        , hedge_source
        , coalesce(max(CASE WHEN kind = 'reset' THEN place END) OVER so_far, 0) AS clause_place
        , coalesce(max(CASE WHEN kind = 'negation' THEN place END) OVER so_far, 0) AS negation_place
        , coalesce(max(CASE WHEN hedge_source = 'seed' THEN place END) OVER so_far, 0) AS seed_place
        , coalesce(max(CASE WHEN kind = 'or' THEN place END) OVER so_far, 0) AS or_place
    FROM lydus.dx_hit_v0
    WHERE accepted
    WINDOW so_far AS (PARTITION BY statement_id ORDER BY place)
)

, scopes AS (
    SELECT
        statement_id
        , place
        , phrase
        , kind
        , codes
        , clause_place
        , negation_place
        , seed_place
        , or_place
        , bool_or(kind = 'either') OVER clause AS is_either
        , bool_or(phrase = 'digitalis effect') OVER clause AS has_digitalis
        , min(CASE WHEN kind IN ('finding', 'infarct', 'hedged') THEN place END) OVER clause AS head_place
    FROM clauses
    WINDOW clause AS (PARTITION BY statement_id, clause_place)
)

SELECT
    scopes.statement_id
    , scopes.place
    , scopes.phrase
    , scopes.kind
    , scopes.codes
    , nullif(
        concat_ws(
            ' + '
            , CASE WHEN scopes.negation_place > scopes.clause_place THEN 'negated' END
            , CASE
                WHEN
                    scopes.seed_place > scopes.clause_place
                    OR (params.hedge_digitalis AND scopes.has_digitalis AND scopes.phrase = 'st abnormality')
                    THEN 'hedged_seed'
            END
            , CASE WHEN scopes.is_either THEN 'either_or' END
            , CASE
                WHEN
                    scopes.or_place > scopes.head_place
                    AND NOT scopes.is_either
                    AND greatest(scopes.negation_place, scopes.seed_place) <= scopes.clause_place
                    THEN 'or_alternative'
            END
        ), ''
    ) AS reason
FROM scopes
CROSS JOIN params
WHERE scopes.kind IN ('finding', 'infarct', 'hedged', 'age')
