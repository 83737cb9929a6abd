-- lydus.group_in_two_parts v0
-- layer: audit
-- grain: group_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, split.by; deviation split
--
-- Groups of the split with records in more than one part, sampled or not: none may be.

SELECT
    group_id
    , count(DISTINCT part) AS parts
    , count(*) AS records
FROM split.lydus
WHERE group_id IS NOT NULL
GROUP BY group_id
HAVING count(DISTINCT part) > 1
