-- mitbih.symbol_unknown v0
-- layer: audit
-- grain: record_id, row_no
-- shard: none
-- stored: no
-- status: draft
-- source: map.mitbih_symbol
--
-- Annotations whose symbol the map does not hold: nobody knows whether they are beats.

SELECT
    record_id
    , row_no
    , sample
    , symbol
FROM mitbih.annotation_v0
WHERE kind IS NULL
