-- ptbdb.record_facts v0
-- layer: report
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: header comments of the release; ours (band_years, last_band)
--
-- What `counts --by` can count PTB by: age in bands of ten years and sex, from the header's comments ("age: 81",
-- "sex: female").

WITH params AS (
    SELECT
        10 AS band_years
        , 90 AS last_band
)

, years AS (
    SELECT
        record.record_id
        , CAST(
            min(
                CASE
                    WHEN
                        regexp_matches(lower(comment.text), '^ *age: *[0-9]{1,3} *$')
                        THEN trim(split_part(comment.text, ':', 2))
                END
            ) AS INTEGER
        )
            AS age
        , lower(
            min(
                CASE WHEN regexp_matches(lower(comment.text), '^ *sex:') THEN trim(split_part(comment.text, ':', 2)) END
            )
        ) AS sex
    FROM ptbdb.record_v0 AS record
    LEFT JOIN raw_ptbdb.comment AS comment ON record.record_id = comment.record_id
    GROUP BY record.record_id
)

SELECT
    record.record_id
    , CASE
        WHEN years.age >= params.last_band THEN params.last_band || '+'
        WHEN years.age >= 0
            THEN
                (years.age - years.age % params.band_years)
                || '-'
                || (years.age - years.age % params.band_years + params.band_years - 1)
    END AS age
    , CASE
        WHEN years.sex IN ('m', 'male') THEN 'male'
        WHEN years.sex IN ('f', 'female') THEN 'female'
    END AS sex
FROM ptbdb.record_v0 AS record
CROSS JOIN params
INNER JOIN years ON record.record_id = years.record_id
