-- lydus.record_facts v0
-- layer: report
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: the release's metadata; ours (band_years, last_band)
--
-- What `counts --by` can count LYDUS by: age in bands of ten years, sex, and what the reviewers wrote of rhythm,
-- premature beats, bundle branches, conduction and pacing. A sex that the release writes as 0 or 1 stays as it is.

WITH params AS (
    SELECT
        10 AS band_years
        , 90 AS last_band
)

, years AS (
    SELECT
        record_id
        , CASE
            WHEN regexp_matches(age, '^[0-9]{1,3}([.][0-9]+)?$') THEN CAST(floor(CAST(age AS DOUBLE)) AS INTEGER)
        END AS age
    FROM lydus.record_v0
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
        WHEN lower(record.sex) IN ('m', 'male') THEN 'male'
        WHEN lower(record.sex) IN ('f', 'female') THEN 'female'
        ELSE record.sex
    END AS sex
    , record.rhythm
    , record.premature_beat
    , record.bbb
    , record.avb
    , record.pacing
FROM lydus.record_v0 AS record
CROSS JOIN params
INNER JOIN years ON record.record_id = years.record_id
