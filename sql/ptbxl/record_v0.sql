-- ptbxl.record v0
-- layer: staging
-- grain: ecg_id
-- shard: ecg_id
-- stored: no
-- status: draft
-- source: PTB-XL's database table; cinc2024-ptbxl-image@0, split.validation_fold, split.test_fold
--
-- One row a record. The part follows PTB-XL's own folds, which never part a patient: the ninth validates, the tenth
-- tests, the others train.

WITH params AS (
    SELECT
        9 AS validation_fold
        , 10 AS test_fold
)

SELECT
    record.ecg_id
    , record.patient_id
    , record.strat_fold AS fold
    , CASE record.strat_fold
        WHEN params.test_fold THEN 'test'
        WHEN params.validation_fold THEN 'validation'
        ELSE 'train'
    END AS part
    , record.age
    , record.sex
FROM raw_ptbxl.record
CROSS JOIN params
