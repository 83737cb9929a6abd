-- task.ecg_heartbeat_interpatient_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-interpatient@0, split.sets
--
-- Beats on another side than the map's sets give their record (column de_chazal): DS2 tests, DS1 trains and validates,
-- a record of neither is in no part.

SELECT
    task.instance_id
    , task.record_id
    , task.part
    , known.de_chazal AS side
FROM task.ecg_heartbeat_interpatient_v0 AS task
LEFT JOIN map.mitbih_record AS known ON task.record_id = CAST(known.record AS VARCHAR)
WHERE
    (task.part = 'test') IS DISTINCT FROM (known.de_chazal = 'DS2')
    OR coalesce(task.part IN ('train', 'validation'), FALSE) <> coalesce(known.de_chazal = 'DS1', FALSE)
    OR coalesce(task.part = 'validation', FALSE) <> coalesce(known.is_validation AND known.de_chazal = 'DS1', FALSE)
