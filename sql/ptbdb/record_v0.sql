-- ptbdb.record v0
-- layer: staging
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: folders and headers of the release
--
-- One row a record with its patient: the folder patientNNN of the release, else a header comment such as
-- "patient: 001". patient_from says which; where neither names one it is 'record', the record a group of its own.

WITH named AS (
    SELECT
        record_id
        , min(nullif(trim(split_part(text, ':', 2)), '')) AS patient
    FROM raw_ptbdb.comment
    WHERE regexp_matches(lower(text), '^patient( (id|number|no))? *:')
    GROUP BY record_id
)

, folders AS (
    SELECT
        record_id
        , nullif(regexp_extract(lower(folder), 'patient[0-9]+'), '') AS patient
    FROM raw_ptbdb.record
)

SELECT
    record.record_id
    , coalesce(folders.patient, named.patient, record.record_id) AS patient_id
    , CASE
        WHEN folders.patient IS NOT NULL THEN 'folder'
        WHEN named.patient IS NOT NULL THEN 'header'
        ELSE 'record'
    END AS patient_from
    , record.folder
    , record.hz
    , record.n_samples
    , record.n_signals
FROM raw_ptbdb.record
INNER JOIN folders ON record.record_id = folders.record_id
LEFT JOIN named ON record.record_id = named.record_id
