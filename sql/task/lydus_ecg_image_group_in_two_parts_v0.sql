-- task.lydus_ecg_image_group_in_two_parts v0
-- layer: audit
-- grain: group_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, split.by
--
-- Groups with instances in more than one part, left out or not: none may be. lydus.group_in_two_parts holds the same of
-- the whole split, sampled or not.

SELECT
    group_id
    , count(DISTINCT part) AS parts
FROM task.lydus_ecg_image_v0
WHERE group_id IS NOT NULL
GROUP BY group_id
HAVING count(DISTINCT part) > 1
