-- ptbxl.code_unknown v0
-- layer: audit
-- grain: code
-- shard: none
-- stored: no
-- status: draft
-- source: PTB-XL's scp_statements.csv; map.ptbxl_superclass
--
-- SCP codes of records that scp_statements.csv does not hold, and diagnostic codes of a superclass that no class is
-- made of: they give no label.

SELECT
    scp.code
    , count(*) AS records
FROM raw_ptbxl.scp_code AS scp
LEFT JOIN raw_ptbxl.scp_statement AS statement ON scp.code = statement.code
LEFT JOIN map.ptbxl_superclass AS super ON statement.diagnostic_class = super.diagnostic_class
WHERE statement.code IS NULL OR (statement.diagnostic AND super.class IS NULL)
GROUP BY scp.code
