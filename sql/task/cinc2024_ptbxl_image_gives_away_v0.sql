-- task.cinc2024_ptbxl_image_gives_away v0
-- layer: audit
-- grain: instance_id
-- shard: none
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0; deviation images
--
-- Images whose row names what no image may: a file that is not called after the instance's id alone, or an
-- image of nothing that the task uses.

SELECT
    image.instance_id
    , image.file
FROM image.cinc2024_ptbxl_image_v0 AS image
LEFT JOIN task.cinc2024_ptbxl_image_v0 AS task ON image.instance_id = task.instance_id
WHERE
    task.instance_id IS NULL
    OR task.left_out IS NOT NULL
    OR image.file <> substr(image.instance_id, 1, 2) || '/' || image.instance_id
    || CASE image.format WHEN 'jpeg' THEN '.jpg' ELSE '.png' END
