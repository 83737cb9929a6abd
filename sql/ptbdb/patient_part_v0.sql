-- ptbdb.patient_part v0
-- layer: evidence
-- grain: patient_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@1, split.seed, split.test_fraction, split.validation_fraction; ours (half)
--
-- Parts of the patients, class by class: in the order of sha256 over seed and patient, the first fifth tests, the next
-- tenth validates. A patient with records of both classes counts with the first by name.

WITH params AS (
    SELECT
        20261031 AS seed
        , 0.2 AS test_fraction
        , 0.1 AS validation_fraction
        , 0.5 AS half
)

, classes AS (
    SELECT
        record_id
        , min(class) AS class
    FROM ptbdb.diagnosis_v0
    WHERE accepted
    GROUP BY record_id
    HAVING count(DISTINCT class) = 1
)

, patients AS (
    SELECT
        record.patient_id
        , min(classes.class) AS class
    FROM ptbdb.record_v0 AS record
    INNER JOIN classes ON record.record_id = classes.record_id
    GROUP BY record.patient_id
)

, ordered AS (
    SELECT
        patients.patient_id
        , row_number() OVER (
            PARTITION BY patients.class ORDER BY sha256(params.seed || ':' || patients.patient_id)
        ) - 1 AS draw_no
        , count(*) OVER (PARTITION BY patients.class) AS n_patients
    FROM patients
    CROSS JOIN params
)

SELECT
    ordered.patient_id
    , CASE
        WHEN ordered.draw_no < floor(params.test_fraction * ordered.n_patients + params.half) THEN 'test'
        WHEN
            ordered.draw_no
            < floor((params.test_fraction + params.validation_fraction) * ordered.n_patients + params.half)
            THEN 'validation'
        ELSE 'train'
    END AS part
FROM ordered
CROSS JOIN params
