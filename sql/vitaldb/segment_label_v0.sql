-- vitaldb.segment_label v0
-- layer: label
-- grain: case_id, start_s
-- shard: case_id
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, label; protocol.source
--
-- The label of every segment adds up what vitaldb.segment_evidence says of it: a class is given when something
-- speaks for it that is accepted, and nothing that stands excludes it. Abnormal goes before normal.
--
-- reason is what gave the label ('abnormal_rhythm', 'normal_context'), else the first reason in the order of
-- map.vitaldb_reason; all reasons stand in the evidence. ecg says 'not checked' where no signal is loaded.

WITH verdicts AS (
    SELECT
        evidence.case_id
        , evidence.start_s
        , bool_or(evidence.class = 'abnormal' AND evidence.kind = 'candidate' AND evidence.accepted)
        AND NOT bool_or(evidence.class IN ('abnormal', 'any') AND evidence.kind = 'exclusion' AND NOT evidence.accepted)
            AS is_abnormal
        , bool_or(evidence.class = 'normal' AND evidence.kind = 'candidate' AND evidence.accepted)
        AND NOT bool_or(evidence.class IN ('normal', 'any') AND evidence.kind = 'exclusion' AND NOT evidence.accepted)
            AS is_normal
        , min(CASE WHEN NOT evidence.accepted THEN reason.rank END) AS rank
    FROM vitaldb.segment_evidence_v0 AS evidence
    LEFT JOIN map.vitaldb_reason AS reason ON evidence.reason = reason.reason
    GROUP BY evidence.case_id, evidence.start_s
)

, single AS (
    SELECT
        case_id
        , start_s
        , count(*) AS rhythms
        , min(rhythm) AS seen
        , min(CASE WHEN role = 'abnormal' THEN rhythm END) AS abnormal
        , min(CASE WHEN role = 'normal' THEN rhythm END) AS normal
    FROM vitaldb.segment_rhythm_v0
    GROUP BY case_id, start_s
)

-- Few segments carry several rhythms, and a sorted string_agg over all is the dearest step there is.
, several AS (
    SELECT
        rhythm.case_id
        , rhythm.start_s
        , string_agg(rhythm.rhythm, '|' ORDER BY rhythm.rhythm) AS seen
        , string_agg(CASE WHEN rhythm.role = 'abnormal' THEN rhythm.rhythm END, '|' ORDER BY rhythm.rhythm) AS abnormal
    FROM vitaldb.segment_rhythm_v0 AS rhythm
    INNER JOIN single ON rhythm.case_id = single.case_id AND rhythm.start_s = single.start_s
    WHERE single.rhythms > 1
    GROUP BY rhythm.case_id, rhythm.start_s
)

SELECT
    segment.case_id
    , segment.start_s
    , segment.duration_s
    , CASE
        WHEN verdicts.is_abnormal THEN 'abnormal'
        WHEN verdicts.is_normal THEN 'normal'
    END AS label
    , CASE
        WHEN verdicts.is_abnormal THEN 'abnormal_rhythm'
        WHEN verdicts.is_normal THEN 'normal_context'
        ELSE reason.reason
    END AS reason
    , CASE
        WHEN verdicts.is_abnormal THEN coalesce(several.abnormal, single.abnormal)
        WHEN verdicts.is_normal THEN single.normal
    END AS rhythms
    , coalesce(several.seen, single.seen) AS rhythms_seen
    , segment.beats
    , segment.premature_beats
    , segment.flagged_rows > 0 AS bad_signal_quality
    , CASE
        WHEN ecg.case_id IS NULL THEN 'not checked'
        WHEN ecg.accepted THEN 'present'
        ELSE 'missing'
    END AS ecg
FROM vitaldb.segment_v0 AS segment
LEFT JOIN verdicts ON segment.case_id = verdicts.case_id AND segment.start_s = verdicts.start_s
LEFT JOIN map.vitaldb_reason AS reason ON verdicts.rank = reason.rank
LEFT JOIN single ON segment.case_id = single.case_id AND segment.start_s = single.start_s
LEFT JOIN several ON segment.case_id = several.case_id AND segment.start_s = several.start_s
LEFT JOIN vitaldb.missing_ecg_v0 AS ecg ON segment.case_id = ecg.case_id AND segment.start_s = ecg.start_s
