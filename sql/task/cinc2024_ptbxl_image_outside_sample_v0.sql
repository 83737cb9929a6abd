-- task.cinc2024_ptbxl_image_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0, split.validation_fold, split.test_fold
--
-- Records in another part than PTB-XL's own fold gives them, or under another fold.

WITH params AS (
    SELECT
        9 AS validation_fold
        , 10 AS test_fold
)

SELECT
    task.instance_id
    , task.part
    , task.fold
    , record.strat_fold
FROM task.cinc2024_ptbxl_image_v0 AS task
CROSS JOIN params
LEFT JOIN raw_ptbxl.record AS record ON task.record_id = record.ecg_id
WHERE
    task.fold IS DISTINCT FROM record.strat_fold
    OR (task.part = 'test') IS DISTINCT FROM (record.strat_fold = params.test_fold)
    OR (task.part = 'validation') IS DISTINCT FROM (record.strat_fold = params.validation_fold)
