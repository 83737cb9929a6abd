-- lydus.wfdb_gain v0
-- layer: report
-- grain: part
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, input.render.wfdb_gain.beyond_mv
--
-- Sampled records that an image draws at the coarser of two resolutions: the generator reads 16-bit records, 1 µV a
-- count, and a record whose twelve leads go beyond that range is written at 10 µV. A part without such a record has no
-- row.
--
-- How far a record goes is a fact that load writes (raw_lydus.signal_fact.extreme_uv), the four computed leads among
-- the twelve. Records that are left out count: the number says what the draw holds.

WITH params AS (
    SELECT 32.767 AS beyond_mv
)

SELECT
    record.part
    , count(*) AS records
FROM lydus.record_v0 AS record
CROSS JOIN params
INNER JOIN raw_lydus.signal_fact AS fact ON record.record_id = fact.record_id
WHERE record.sampled AND record.part IS NOT NULL AND fact.extreme_uv > params.beyond_mv * 1000
GROUP BY record.part
