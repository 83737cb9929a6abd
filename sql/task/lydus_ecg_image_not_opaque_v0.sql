-- task.lydus_ecg_image_not_opaque v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, instance_id.digits
--
-- Instance ids that are no twelve hexadecimal digits, that are the record's own id, or that two records share.

WITH params AS (
    SELECT 12 AS digits
)

SELECT
    task.instance_id
    , count(*) AS records
FROM task.lydus_ecg_image_v0 AS task
CROSS JOIN params
GROUP BY task.instance_id
HAVING
    count(*) > 1
    OR min(length(task.instance_id)) <> max(params.digits)
    OR bool_or(translate(task.instance_id, '0123456789abcdef', '') <> '')
    OR bool_or(task.instance_id = task.record_id)
