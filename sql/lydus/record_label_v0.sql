-- lydus.record_label v0
-- layer: label
-- grain: record_id
-- shard: record_id
-- stored: yes
-- status: draft
-- source: lydus-ecg-image@0, label; matching grammar 8; ambiguities 14, 16 and 17
--
-- The classes of every record add up what lydus.class_evidence says of it: a class is given when a candidate for it
-- is accepted and nothing that stands excludes it. Acute MI and Old MI never stand together; NORM may stand beside
-- other classes, as the Challenge's labels do.
--
-- classes counts them; a record with none is not scored and stays in its part. The columns carry the spec's names in
-- the task view.

WITH verdicts AS (
    SELECT
        record_id
        , CASE WHEN kind = 'candidate' AND accepted THEN class END AS given
        , CASE WHEN kind = 'exclusion' AND NOT accepted THEN class END AS taken
    FROM lydus.class_evidence_v0
    WHERE accepted OR kind = 'exclusion'
)

, classes AS (
    SELECT
        record_id
        , bool_or(given = 'AFIB/AFL') AS afib_afl
        , bool_or(given = 'Acute MI') AS acute_mi
        , bool_or(given = 'BRADY') AS brady
        , bool_or(given = 'CD') AS cd
        , bool_or(given = 'HYP') AS hyp
        , bool_or(given = 'NORM') AS norm
        , bool_or(given = 'Old MI') AS old_mi
        , bool_or(given = 'PAC') AS pac
        , bool_or(given = 'PVC') AS pvc
        , bool_or(given = 'STTC') AS sttc
        , bool_or(given = 'TACHY') AS tachy
        , bool_or(taken = 'Old MI') AS not_old_mi
    FROM verdicts
    GROUP BY record_id
)

, labels AS (
    SELECT
        record.record_id
        , coalesce(classes.afib_afl, FALSE) AS afib_afl
        , coalesce(classes.acute_mi, FALSE) AS acute_mi
        , coalesce(classes.brady, FALSE) AS brady
        , coalesce(classes.cd, FALSE) AS cd
        , coalesce(classes.hyp, FALSE) AS hyp
        , coalesce(classes.norm, FALSE) AS norm
        , coalesce(classes.old_mi AND NOT coalesce(classes.not_old_mi, FALSE), FALSE) AS old_mi
        , coalesce(classes.pac, FALSE) AS pac
        , coalesce(classes.pvc, FALSE) AS pvc
        , coalesce(classes.sttc, FALSE) AS sttc
        , coalesce(classes.tachy, FALSE) AS tachy
    FROM raw_lydus.record
    LEFT JOIN classes ON record.record_id = classes.record_id
)

SELECT
    *
    , CAST(afib_afl AS INTEGER)
    + CAST(acute_mi AS INTEGER)
    + CAST(brady AS INTEGER)
    + CAST(cd AS INTEGER)
    + CAST(hyp AS INTEGER)
    + CAST(norm AS INTEGER)
    + CAST(old_mi AS INTEGER)
    + CAST(pac AS INTEGER)
    + CAST(pvc AS INTEGER)
    + CAST(sttc AS INTEGER)
    + CAST(tachy AS INTEGER) AS classes
FROM labels
