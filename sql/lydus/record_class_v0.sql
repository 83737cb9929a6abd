-- lydus.record_class v0
-- layer: label
-- grain: record_id, class
-- shard: record_id
-- stored: no
-- status: draft
-- source: lydus.record_label v0
--
-- The same labels, a row a record and class that it has, under the spec's names: for reports, which count by class.

SELECT
    record_id
    , 'AFIB/AFL' AS class
FROM lydus.record_label_v0
WHERE afib_afl

UNION ALL
SELECT
    record_id
    , 'Acute MI' AS class
FROM lydus.record_label_v0
WHERE acute_mi

UNION ALL
SELECT
    record_id
    , 'BRADY' AS class
FROM lydus.record_label_v0
WHERE brady

UNION ALL
SELECT
    record_id
    , 'CD' AS class
FROM lydus.record_label_v0
WHERE cd

UNION ALL
SELECT
    record_id
    , 'HYP' AS class
FROM lydus.record_label_v0
WHERE hyp

UNION ALL
SELECT
    record_id
    , 'NORM' AS class
FROM lydus.record_label_v0
WHERE norm

UNION ALL
SELECT
    record_id
    , 'Old MI' AS class
FROM lydus.record_label_v0
WHERE old_mi

UNION ALL
SELECT
    record_id
    , 'PAC' AS class
FROM lydus.record_label_v0
WHERE pac

UNION ALL
SELECT
    record_id
    , 'PVC' AS class
FROM lydus.record_label_v0
WHERE pvc

UNION ALL
SELECT
    record_id
    , 'STTC' AS class
FROM lydus.record_label_v0
WHERE sttc

UNION ALL
SELECT
    record_id
    , 'TACHY' AS class
FROM lydus.record_label_v0
WHERE tachy
