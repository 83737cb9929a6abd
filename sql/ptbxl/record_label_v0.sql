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
        , bool_or(class = 'AFIB/AFL' AND kind = 'candidate' AND accepted) AS afib_afl
        , bool_or(class = 'Acute MI' AND kind = 'candidate' AND accepted) AS acute_mi
        , bool_or(class = 'BRADY' AND kind = 'candidate' AND accepted) AS brady
        , bool_or(class = 'CD' AND kind = 'candidate' AND accepted) AS cd
        , bool_or(class = 'HYP' AND kind = 'candidate' AND accepted) AS hyp
        , bool_or(class = 'NORM' AND kind = 'candidate' AND accepted) AS norm
        , bool_or(class = 'Old MI' AND kind = 'candidate' AND accepted)
        AND NOT bool_or(class = 'Old MI' AND kind = 'exclusion' AND NOT accepted) AS old_mi
        , bool_or(class = 'PAC' AND kind = 'candidate' AND accepted) AS pac
        , bool_or(class = 'PVC' AND kind = 'candidate' AND accepted) AS pvc
        , bool_or(class = 'STTC' AND kind = 'candidate' AND accepted) AS sttc
        , bool_or(class = 'TACHY' AND kind = 'candidate' AND accepted) AS tachy
    FROM ptbxl.class_evidence_v0
    GROUP BY ecg_id
)

, statements AS (
    SELECT count(*) AS loaded
    FROM raw_ptbxl.statement_12sl
)

, labels AS (
    SELECT
        record.ecg_id
        , coalesce(verdicts.afib_afl, FALSE) AS afib_afl
        , coalesce(verdicts.acute_mi, FALSE) AS acute_mi
        , coalesce(verdicts.brady, FALSE) AS brady
        , coalesce(verdicts.cd, FALSE) AS cd
        , coalesce(verdicts.hyp, FALSE) AS hyp
        , coalesce(verdicts.norm, FALSE) AS norm
        , coalesce(verdicts.old_mi, FALSE) AS old_mi
        , coalesce(verdicts.pac, FALSE) AS pac
        , coalesce(verdicts.pvc, FALSE) AS pvc
        , coalesce(verdicts.sttc, FALSE) AS sttc
        , coalesce(verdicts.tachy, FALSE) AS tachy
        , CASE WHEN statements.loaded > 0 THEN 'checked' ELSE 'not checked' END AS acute_mi_rule
    FROM raw_ptbxl.record
    CROSS JOIN statements
    LEFT JOIN verdicts ON record.ecg_id = verdicts.ecg_id
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
