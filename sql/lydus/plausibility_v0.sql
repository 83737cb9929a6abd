-- lydus.plausibility v0
-- layer: report
-- grain: record_id, rule
-- shard: none
-- stored: no
-- status: draft
-- source: ours (brady_above_bpm, tachy_below_bpm, narrow_qrs_ms); the release's own measurements
--
-- A queue for review, no rule: labels that the machine's own measurements or another label make unlikely. A record
-- without the measurement is not asked. Of CD only codes that state a wide QRS are: an AV block has a narrow one.

WITH params AS (
    SELECT
        60 AS brady_above_bpm
        , 100 AS tachy_below_bpm
        , 110 AS narrow_qrs_ms
)

, wide AS (
    SELECT DISTINCT evidence.record_id
    FROM lydus.class_evidence_v0 AS evidence
    INNER JOIN map.dx_code AS known ON evidence.value = CAST(known.code AS VARCHAR)
    WHERE evidence.class = 'CD' AND evidence.accepted AND known.wide_qrs
)

, odd AS (
    SELECT
        label.record_id
        , 'brady_fast' AS rule
        , 'BRADY' AS class
        , record.vrate AS measured
    FROM lydus.record_label_v0 AS label
    CROSS JOIN params
    INNER JOIN raw_lydus.record ON label.record_id = record.record_id
    WHERE label.brady AND record.vrate > params.brady_above_bpm

    UNION ALL
    SELECT
        label.record_id
        , 'tachy_slow' AS rule
        , 'TACHY' AS class
        , record.vrate AS measured
    FROM lydus.record_label_v0 AS label
    CROSS JOIN params
    INNER JOIN raw_lydus.record ON label.record_id = record.record_id
    WHERE label.tachy AND record.vrate < params.tachy_below_bpm

    UNION ALL
    SELECT
        wide.record_id
        , 'cd_narrow_qrs' AS rule
        , 'CD' AS class
        , record.qrsd AS measured
    FROM wide
    CROSS JOIN params
    INNER JOIN raw_lydus.record ON wide.record_id = record.record_id
    WHERE record.qrsd < params.narrow_qrs_ms

    UNION ALL
    SELECT
        record_id
        , 'norm_beside_cd' AS rule
        , 'NORM' AS class
        , NULL AS measured
    FROM lydus.record_label_v0
    WHERE norm AND cd

    UNION ALL
    SELECT
        record_id
        , 'norm_beside_afib' AS rule
        , 'NORM' AS class
        , NULL AS measured
    FROM lydus.record_label_v0
    WHERE norm AND afib_afl
)

SELECT
    odd.record_id
    , odd.rule
    , odd.class
    , odd.measured
    , split.part
    , coalesce(split.sampled, FALSE) AS sampled
FROM odd
LEFT JOIN split.lydus AS split ON odd.record_id = split.record_id
