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
    FROM lydus.class_evidence_v0
    GROUP BY record_id
)

, labels AS (
    SELECT
        record.record_id
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
    FROM raw_lydus.record
    LEFT JOIN verdicts ON record.record_id = verdicts.record_id
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
