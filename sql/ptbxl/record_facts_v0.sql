-- ptbxl.record_facts v0
-- layer: report
-- grain: ecg_id
-- shard: ecg_id
-- stored: no
-- status: draft
-- source: PTB-XL's database table; ours (band_years, last_band)
--
-- What `counts --by` can count PTB-XL by: age in bands of ten years (PTB-XL writes 300 for everybody above 89), sex (0
-- is male, 1 female, as its paper says), device, site, and the rhythm statements of the record, joined by |.

WITH params AS (
    SELECT
        10 AS band_years
        , 90 AS last_band
)

, years AS (
    SELECT
        ecg_id
        , CASE
            WHEN regexp_matches(age, '^[0-9]{1,3}([.][0-9]+)?$') THEN CAST(floor(CAST(age AS DOUBLE)) AS INTEGER)
        END AS age
    FROM ptbxl.record_v0
)

, rhythms AS (
    SELECT
        code.ecg_id
        , string_agg(code.code, '|' ORDER BY code.code) AS rhythm
    FROM raw_ptbxl.scp_code AS code
    INNER JOIN raw_ptbxl.scp_statement AS statement ON code.code = statement.code
    WHERE statement.rhythm
    GROUP BY code.ecg_id
)


SELECT
    record.ecg_id
    , CASE
        WHEN years.age >= params.last_band THEN params.last_band || '+'
        WHEN years.age >= 0
            THEN
                (years.age - years.age % params.band_years)
                || '-'
                || (years.age - years.age % params.band_years + params.band_years - 1)
    END AS age
    , CASE
        WHEN record.sex IN ('0', '0.0') THEN 'male'
        WHEN record.sex IN ('1', '1.0') THEN 'female'
    END AS sex
    , recording.device
    , recording.site
    , rhythms.rhythm
FROM ptbxl.record_v0 AS record
CROSS JOIN params
INNER JOIN years ON record.ecg_id = years.ecg_id
LEFT JOIN raw_ptbxl.recording AS recording ON record.ecg_id = recording.ecg_id
LEFT JOIN rhythms ON record.ecg_id = rhythms.ecg_id
