-- vitaldb.segment_label v0
-- layer: label
-- grain: case_id, start_s
-- shard: case_id
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0, label; protocol.task
--
-- The label of every segment of the grid, an aggregate of vitaldb.segment_evidence: a class is given when a
-- candidate for it is accepted and no exclusion of it stands. Abnormal goes before normal.
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

, seen AS (
    SELECT
        case_id
        , start_s
        , string_agg(rhythm, '|' ORDER BY rhythm) AS rhythms_seen
        , string_agg(CASE WHEN role = 'abnormal' THEN rhythm END, '|' ORDER BY rhythm) AS rhythms_abnormal
        , string_agg(CASE WHEN role = 'normal' THEN rhythm END, '|' ORDER BY rhythm) AS rhythms_normal
    FROM vitaldb.segment_rhythm_v0
    GROUP BY case_id, start_s
)

, beats AS (
    SELECT
        case_id
        , start_s
        , CAST(count(*) FILTER (WHERE is_beat) AS INTEGER) AS beats
        , CAST(count(*) FILTER (WHERE is_premature) AS INTEGER) AS premature_beats
    FROM vitaldb.annotation_v0
    GROUP BY case_id, start_s
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
        WHEN verdicts.is_abnormal THEN seen.rhythms_abnormal
        WHEN verdicts.is_normal THEN seen.rhythms_normal
    END AS rhythms
    , seen.rhythms_seen
    , coalesce(beats.beats, 0) AS beats
    , coalesce(beats.premature_beats, 0) AS premature_beats
    , coalesce(quality.flagged, FALSE) AS bad_signal_quality
    , coalesce(quality.by_number, FALSE) AS bad_by_number
    , coalesce(quality.in_sequence, FALSE) AS bad_in_sequence
    , CASE
        WHEN ecg.case_id IS NULL THEN 'not checked'
        WHEN ecg.accepted THEN 'present'
        ELSE 'missing'
    END AS ecg
FROM vitaldb.segment_v0 AS segment
LEFT JOIN verdicts ON segment.case_id = verdicts.case_id AND segment.start_s = verdicts.start_s
LEFT JOIN map.vitaldb_reason AS reason ON verdicts.rank = reason.rank
LEFT JOIN seen ON segment.case_id = seen.case_id AND segment.start_s = seen.start_s
LEFT JOIN beats ON segment.case_id = beats.case_id AND segment.start_s = beats.start_s
LEFT JOIN vitaldb.signal_quality_v0 AS quality
    ON segment.case_id = quality.case_id AND segment.start_s = quality.start_s
LEFT JOIN vitaldb.missing_ecg_v0 AS ecg ON segment.case_id = ecg.case_id AND segment.start_s = ecg.start_s
