-- ptbxl.record_class v0
-- layer: label
-- grain: ecg_id, class
-- shard: ecg_id
-- stored: no
-- status: draft
-- source: ptbxl.record_label v0
--
-- The same labels, a row a record and class that it has, under the spec's names: for reports, which count by class.

SELECT
    ecg_id
    , 'AFIB/AFL' AS class
FROM ptbxl.record_label_v0
WHERE afib_afl

UNION ALL
SELECT
    ecg_id
    , 'Acute MI' AS class
FROM ptbxl.record_label_v0
WHERE acute_mi

UNION ALL
SELECT
    ecg_id
    , 'BRADY' AS class
FROM ptbxl.record_label_v0
WHERE brady

UNION ALL
SELECT
    ecg_id
    , 'CD' AS class
FROM ptbxl.record_label_v0
WHERE cd

UNION ALL
SELECT
    ecg_id
    , 'HYP' AS class
FROM ptbxl.record_label_v0
WHERE hyp

UNION ALL
SELECT
    ecg_id
    , 'NORM' AS class
FROM ptbxl.record_label_v0
WHERE norm

UNION ALL
SELECT
    ecg_id
    , 'Old MI' AS class
FROM ptbxl.record_label_v0
WHERE old_mi

UNION ALL
SELECT
    ecg_id
    , 'PAC' AS class
FROM ptbxl.record_label_v0
WHERE pac

UNION ALL
SELECT
    ecg_id
    , 'PVC' AS class
FROM ptbxl.record_label_v0
WHERE pvc

UNION ALL
SELECT
    ecg_id
    , 'STTC' AS class
FROM ptbxl.record_label_v0
WHERE sttc

UNION ALL
SELECT
    ecg_id
    , 'TACHY' AS class
FROM ptbxl.record_label_v0
WHERE tachy
