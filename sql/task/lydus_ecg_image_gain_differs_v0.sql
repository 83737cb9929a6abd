-- task.lydus_ecg_image_gain_differs v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, input.render.wfdb_gain.uv_per_count, input.render.wfdb_gain.beyond_mv
--
-- Images that were drawn at another resolution than the record's own extremes ask for, as load measured them.

WITH params AS (
    SELECT
        1 AS uv_per_count
        , 32.767 AS beyond_mv
)

SELECT
    image.instance_id
    , image.wfdb_uv_per_count
    , fact.extreme_uv
FROM image.lydus_ecg_image_v0 AS image
CROSS JOIN params
INNER JOIN task.lydus_ecg_image_v0 AS task ON image.instance_id = task.instance_id
INNER JOIN raw_lydus.signal_fact AS fact ON task.record_id = fact.record_id
WHERE (image.wfdb_uv_per_count > params.uv_per_count) <> (fact.extreme_uv > params.beyond_mv * 1000)
