-- vitaldb.record_facts v0
-- layer: report
-- grain: case_id
-- shard: case_id
-- stored: no
-- status: draft
-- source: VitalDB's clinical table; ours (band_years, last_band)
--
-- What `counts --by` can count VitalDB by: age in bands of ten years ('>89' is 90+), sex, ASA class, department, type
-- of operation; unknown (NULL) where no clinical table was loaded. A segment's own rhythms stand in the task view.

WITH params AS (
    SELECT
        10 AS band_years
        , 90 AS last_band
)

, years AS (
    SELECT
        case_id
        , CASE
            WHEN
                age LIKE '>%' AND regexp_matches(substr(age, 2), '^[0-9]{1,3}([.][0-9]+)?$')
                THEN CAST(floor(CAST(substr(age, 2) AS DOUBLE)) AS INTEGER) + 1
            WHEN regexp_matches(age, '^[0-9]{1,3}([.][0-9]+)?$') THEN CAST(floor(CAST(age AS DOUBLE)) AS INTEGER)
        END AS age
    FROM vitaldb.record_v0
)

SELECT
    record.case_id
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
    , record.asa
    , record.department
    , record.optype
FROM vitaldb.record_v0 AS record
CROSS JOIN params
INNER JOIN years ON record.case_id = years.case_id
