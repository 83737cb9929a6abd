-- task.lydus_ecg_image_outside_sample v0
-- layer: audit
-- grain: record_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, split.sample; deviation records
--
-- Instances that the split does not put into their part, or that the draw did not take, and sampled records of a part
-- that are no instance.

SELECT coalesce(instance.record_id, split.record_id) AS record_id
FROM task.lydus_ecg_image_v0 AS instance
FULL OUTER JOIN split.lydus AS split
    ON instance.record_id = split.record_id AND instance.part = split.part AND split.sampled
WHERE
    split.record_id IS NULL
    OR (instance.record_id IS NULL AND split.sampled AND split.part IS NOT NULL)
