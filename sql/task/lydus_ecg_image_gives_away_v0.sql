-- task.lydus_ecg_image_gives_away v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, input.never
--
-- Images whose row names what no image may: a file that is not called after the opaque id alone, a record's own id
-- inside it, or an image of nothing that the task uses.

SELECT
    image.instance_id
    , image.file
FROM image.lydus_ecg_image_v0 AS image
LEFT JOIN task.lydus_ecg_image_v0 AS task ON image.instance_id = task.instance_id
WHERE
    task.instance_id IS NULL
    OR task.left_out IS NOT NULL
    OR image.file <> substr(image.instance_id, 1, 2) || '/' || image.instance_id
    || CASE image.format WHEN 'jpeg' THEN '.jpg' ELSE '.png' END
    OR position(task.record_id IN image.file) > 0
