-- task.lydus_ecg_image_drawn_by_class v0
-- layer: audit
-- grain: class, quantity
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0; deviation images; ours (most_errors, size_deviations, fewest, millionths)
--
-- What is drawn at random tells no class: ink, noise, light, crop and file size of the images with a class differ from
-- those of the images without it by no more than chance explains.
--
-- The test: the difference of the two means in its standard errors, from the variance of all images. 11 classes by 6
-- quantities are 66 comparisons; at 4.4 standard errors each (p = 0.000011 on both sides) the whole audit raises less
-- than one false alarm in a thousand (Bonferroni). What is drawn hangs on the instance's id alone, so nothing is
-- tolerated beside chance. The size of a file also hangs on the trace, which is what a class is about: there a
-- difference must be a fifth of the sizes' standard deviation too. Fewer than twenty images on one side say nothing.
-- grey and crop, fractions, are counted in millionths, so that every sum is exact.

WITH params AS (
    SELECT
        4.4 AS most_errors
        , 0.2 AS size_deviations
        , 20 AS fewest
        , 1000000 AS millionths
)

, drawn AS (
    SELECT
        task.record_id
        , image.noise
        , image.temperature
        , image.bytes
        , CASE WHEN image.warm THEN 1 WHEN NOT image.warm THEN 0 END AS warm
        , CAST(round(image.grey * params.millionths) AS BIGINT) AS grey
        , CAST(round(image.crop * params.millionths) AS BIGINT) AS crop
    FROM task.lydus_ecg_image_v0 AS task
    CROSS JOIN params
    INNER JOIN image.lydus_ecg_image_v0 AS image ON task.instance_id = image.instance_id
)

, measured AS (
    SELECT
        record_id
        , 'noise' AS quantity
        , CAST(noise AS BIGINT) AS value
    FROM drawn
    WHERE noise IS NOT NULL

    UNION ALL
    SELECT
        record_id
        , 'temperature' AS quantity
        , CAST(temperature AS BIGINT) AS value
    FROM drawn
    WHERE temperature IS NOT NULL

    UNION ALL
    SELECT
        record_id
        , 'bytes' AS quantity
        , CAST(bytes AS BIGINT) AS value
    FROM drawn

    UNION ALL
    SELECT
        record_id
        , 'warm' AS quantity
        , CAST(warm AS BIGINT) AS value
    FROM drawn
    WHERE warm IS NOT NULL

    UNION ALL
    SELECT
        record_id
        , 'grey' AS quantity
        , grey AS value
    FROM drawn
    WHERE grey IS NOT NULL

    UNION ALL
    SELECT
        record_id
        , 'crop' AS quantity
        , crop AS value
    FROM drawn
    WHERE crop IS NOT NULL
)

, everything AS (
    SELECT
        quantity
        , count(*) AS images
        , sum(value) AS total
        , sum(value * value) AS squares
    FROM measured
    GROUP BY quantity
)

, classes AS (
    SELECT
        label.class
        , measured.quantity
        , count(*) AS images
        , sum(measured.value) AS total
    FROM measured
    INNER JOIN lydus.record_class_v0 AS label ON measured.record_id = label.record_id
    GROUP BY label.class, measured.quantity
)

, sides AS (
    SELECT
        own.class
        , own.quantity
        , own.images AS images_with
        , everything.images - own.images AS images_without
        , CAST(own.total AS DOUBLE) / own.images AS mean_with
        , CAST(everything.total - own.total AS DOUBLE) / (everything.images - own.images) AS mean_without
        , (
            everything.squares - CAST(everything.total AS DOUBLE) * CAST(everything.total AS DOUBLE) / everything.images
        ) / (everything.images - 1) AS variance
    FROM classes AS own
    CROSS JOIN params
    INNER JOIN everything ON own.quantity = everything.quantity
    WHERE own.images >= params.fewest AND everything.images - own.images >= params.fewest
)

, compared AS (
    SELECT
        class
        , quantity
        , images_with
        , images_without
        , mean_with
        , mean_without
        , abs(mean_with - mean_without) AS difference
        , sqrt(variance) AS deviation
        , sqrt(variance / images_with + variance / images_without) AS error
    FROM sides
)

SELECT
    compared.class
    , compared.quantity
    , compared.images_with
    , compared.images_without
    , compared.mean_with
    , compared.mean_without
    , compared.difference / compared.error AS errors
FROM compared
CROSS JOIN params
WHERE
    compared.difference > params.most_errors * compared.error
    AND (compared.quantity <> 'bytes' OR compared.difference > params.size_deviations * compared.deviation)
