-- task.vitaldb_arrhythmia_abnormal_flagged_in_test v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, bad_signal_quality.exclude_from
--
-- Segments with bad signal quality that are used in the test part, and segments left out of another part for it.

SELECT
    instance_id
    , part
    , left_out
FROM task.vitaldb_arrhythmia_abnormal_v0
WHERE
    (part = 'test' AND bad_signal_quality AND left_out IS NULL)
    OR (part <> 'test' AND left_out = 'bad_signal_quality')
