-- lydus.reviewed_value_unknown v0
-- layer: audit
-- grain: field, entry
-- shard: none
-- stored: no
-- status: draft
-- source: import contract E05; map.lydus_reviewed
--
-- E05: entries of the reviewed columns that map.lydus_reviewed does not know, with the records that carry them. The
-- agreement counts them as naming no class, but for the bundle branch block column, where any entry counts.

SELECT
    field
    , entry
    , count(*) AS records
FROM lydus.reviewed_class_v0
WHERE NOT known
GROUP BY field, entry
