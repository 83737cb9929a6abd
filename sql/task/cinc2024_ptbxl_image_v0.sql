-- task.cinc2024_ptbxl_image v0
-- layer: task
-- grain: record_id
-- shard: ecg_id
-- stored: yes
-- status: draft
-- source: cinc2024-ptbxl-image@0, classes, split
--
-- PTB-XL records as images to be named with every class that applies out of eleven: the Challenge's own task on the
-- data that it gave out, parts by PTB-XL's folds. A record without a class is not scored, as in the Challenge.
--
-- acute_mi_rule says whether Acute MI could be told from Old MI: 'not checked' without PTB-XL+'s 12SL statements.

SELECT
    CAST(label.ecg_id AS VARCHAR) AS instance_id
    , label.ecg_id AS record_id
    , record.patient_id AS group_id
    , record.part
    , record.fold
    , label.classes > 0 AS scored
    , CAST(NULL AS VARCHAR) AS left_out
    , label.afib_afl AS "AFIB/AFL"
    , label.acute_mi AS "Acute MI"
    , label.brady AS "BRADY"
    , label.cd AS "CD"
    , label.hyp AS "HYP"
    , label.norm AS "NORM"
    , label.old_mi AS "Old MI"
    , label.pac AS "PAC"
    , label.pvc AS "PVC"
    , label.sttc AS "STTC"
    , label.tachy AS "TACHY"
    , label.acute_mi_rule
FROM ptbxl.record_label_v0 AS label
INNER JOIN ptbxl.record_v0 AS record ON label.ecg_id = record.ecg_id
