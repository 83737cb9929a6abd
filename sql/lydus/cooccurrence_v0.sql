-- lydus.cooccurrence v0
-- layer: report
-- grain: part, class, other
-- shard: none
-- stored: no
-- status: draft
-- source: lydus.record_class v0
--
-- Used sampled records that carry two classes, each pair once, names in alphabetical order. Acute MI beside Old MI
-- cannot be; NORM beside another class can, and lydus.plausibility queues the odd ones.

SELECT
    used.part
    , one.class
    , other.class AS other
    , count(*) AS records
FROM task.lydus_ecg_image_v0 AS used
INNER JOIN lydus.record_class_v0 AS one ON used.record_id = one.record_id
INNER JOIN lydus.record_class_v0 AS other ON used.record_id = other.record_id AND one.class < other.class
WHERE used.left_out IS NULL
GROUP BY used.part, one.class, other.class
