-- task.ecg_heartbeat_balanced_outside_sample v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-balanced@0, split.test_per_class; deviation balance
--
-- Beats outside the sample: in another part than the split draws them into, tested although they come later in the draw
-- of their class than the number that is tested, or not tested for that reason although they come earlier.

WITH params AS (
    SELECT 162 AS test_per_class
)

SELECT
    task.instance_id
    , task.part
    , split.part AS drawn_part
    , split.draw_no
FROM task.ecg_heartbeat_balanced_v0 AS task
CROSS JOIN params
LEFT JOIN split.mitbih AS split ON task.record_id = split.record_id AND task.row_no = split.row_no
WHERE
    task.part IS DISTINCT FROM split.part
    OR (task.part = 'test' AND task.left_out IS NULL AND split.draw_no >= params.test_per_class)
    OR (task.left_out = 'beyond_balance' AND (task.part <> 'test' OR split.draw_no < params.test_per_class))
