-- ptbxl.record_label v0
-- layer: label
-- grain: ecg_id
-- shard: ecg_id
-- stored: no
-- status: draft
-- source: cinc2024-ptbxl-image@0, label; prepare_ptbxl_data.py of the Challenge 2024
--
-- The classes of every record add up what ptbxl.class_evidence says of it. NORM is not exclusive; acute goes before
-- old. acute_mi_rule says 'not checked' where no 12SL statement is loaded: then nothing is Acute MI, and every infarct
-- counts as old.

WITH verdicts AS (
    SELECT
        ecg_id
        , CASE WHEN kind = 'candidate' AND accepted THEN class END AS given
        , CASE WHEN kind = 'exclusion' AND NOT accepted THEN class END AS taken
    FROM ptbxl.class_evidence_v0
    WHERE accepted OR kind = 'exclusion'
)

, classes AS (
    SELECT
        ecg_id
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
    GROUP BY ecg_id
)

, statements AS (
    SELECT count(*) AS loaded
    FROM raw_ptbxl.statement_12sl
)

, labels AS (
    SELECT
        record.ecg_id
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
        , CASE WHEN statements.loaded > 0 THEN 'checked' ELSE 'not checked' END AS acute_mi_rule
    FROM raw_ptbxl.record
    CROSS JOIN statements
    LEFT JOIN classes ON record.ecg_id = classes.ecg_id
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
