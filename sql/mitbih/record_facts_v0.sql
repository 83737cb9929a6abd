-- mitbih.record_facts v0
-- layer: report
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: header comments of the release; ours (band_years, last_band)
--
-- What `counts --by` can count MIT-BIH by: age in bands of ten years and sex, from the first line of a header's
-- comments ("69 M 1085 1629 x1"; an age of -1 is unknown). What the other numbers of that line mean the release does
-- not say, so there is no device. A beat's rhythm and lead stand in the task view.

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
                        regexp_matches(trim(comment.text), '^[0-9]{1,3} [MF]( |$)')
                        THEN split_part(trim(comment.text), ' ', 1)
                END
            ) AS INTEGER
        )
            AS age
        , min(
            CASE
                WHEN
                    regexp_matches(trim(comment.text), '^-?[0-9]+ [MF]( |$)')
                    THEN split_part(trim(comment.text), ' ', 2)
            END
        ) AS sex
    FROM mitbih.record_v0 AS record
    LEFT JOIN raw_mitbih.comment AS comment ON record.record_id = comment.record_id
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
        WHEN years.sex IN ('M') THEN 'male'
        WHEN years.sex IN ('F') THEN 'female'
    END AS sex
FROM mitbih.record_v0 AS record
CROSS JOIN params
INNER JOIN years ON record.record_id = years.record_id
