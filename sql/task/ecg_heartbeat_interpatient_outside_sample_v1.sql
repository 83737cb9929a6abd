-- task.ecg_heartbeat_interpatient_outside_sample v1
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-interpatient@1, split.sets
--
-- Beats on another side than the map's sets give their record (column one_side): DS2 tests, DS1 trains and validates,
-- a record of neither is in no part.

SELECT
    task.instance_id
    , task.record_id
    , task.part
    , known.one_side AS side
FROM task.ecg_heartbeat_interpatient_v1 AS task
LEFT JOIN map.mitbih_record AS known ON task.record_id = CAST(known.record AS VARCHAR)
WHERE
    (task.part = 'test') IS DISTINCT FROM (known.one_side = 'DS2')
    OR coalesce(task.part IN ('train', 'validation'), FALSE) <> coalesce(known.one_side = 'DS1', FALSE)
    OR coalesce(task.part = 'validation', FALSE) <> coalesce(known.is_validation AND known.one_side = 'DS1', FALSE)
