-- vitaldb.segment_evidence v0
-- layer: evidence
-- grain: case_id, start_s, rule, source_no
-- shard: case_id
-- stored: yes
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, segments.min_beats; protocol.source
--
-- All that speaks for or against a label of a segment, a row a candidate and a reason.
--
--   kind candidate   could give the segment the class: a rhythm in it (abnormal), a run of normal rhythm with a
--                    row in it (normal). Refused when the run is too short or does not cover the segment.
--   kind exclusion   takes a class from the segment whatever its candidates: a gap, no beat, noise, missing ECG
--                    (class 'any'), an abnormal rhythm or a premature beat (class 'normal').
--
-- A candidate counts when it is accepted and no exclusion of its class, or of any, stands. source and source_no
-- say where a row comes from: the first annotation row (line in the file), the row that begins the run or ends
-- the gap, the first sample; 0 where something is absent.
--
-- Chosen, with the effect of the other reading on the real files:
--   noise beside an abnormal rhythm: not scored     (else +400 abnormal; with empty rows ending no run besides,
--                                                    +2,337 normal as well)
--   noise counts where its row lies                 (carried in from the row before, with the partial segments
--                                                    at both ends dropped: -31 abnormal)
--   a premature beat takes the label normal         (else +5,568 normal)
--   inside a run: the segment does not stick out    (all rows in the run: +713 normal; 20 s either side: -8,928;
--                                                    nine all-normal segments in a row: +660)
--   a beat is a row of type N, S, V, U or P: noise and marker rows are none; min_beats = 0 would change the
--   reasons of segments without label, no label

WITH params AS (
    SELECT 1 AS min_beats
)

, evidence AS (
    SELECT
        case_id
        , start_s
        , 'candidate' AS kind
        , 'abnormal' AS class
        , 'rhythm' AS rule
        , 'row' AS source
        , CAST(first_row_no AS BIGINT) AS source_no
        , CAST(rows_in AS BIGINT) AS rows_in
        , rhythm AS value
        , TRUE AS accepted
        , CAST(NULL AS VARCHAR) AS reason
    FROM vitaldb.segment_rhythm_v0
    WHERE role = 'abnormal'

    UNION ALL
    SELECT
        segment.case_id
        , segment.start_s
        , 'candidate' AS kind
        , 'normal' AS class
        , 'normal_context' AS rule
        , 'run' AS source
        , run.run_no AS source_no
        , NULL AS rows_in
        , NULL AS value
        , run.accepted
        AND run.from_s <= segment.start_s
        AND segment.start_s + segment.duration_s <= run.to_s AS accepted
        , CASE
            WHEN
                NOT run.accepted
                OR run.from_s > segment.start_s
                OR segment.start_s + segment.duration_s > run.to_s THEN 'short_run'
        END AS reason
    FROM vitaldb.segment_v0 AS segment
    INNER JOIN vitaldb.normal_context_v0 AS run
        ON segment.case_id = run.case_id
        AND run.from_s < segment.start_s + segment.duration_s
        AND run.to_s >= segment.start_s
    WHERE segment.normal_row_no IS NOT NULL

    UNION ALL
    SELECT
        segment.case_id
        , segment.start_s
        , 'exclusion' AS kind
        , 'normal' AS class
        , 'abnormal_rhythm' AS rule
        , 'row' AS source
        , rhythm.first_row_no AS source_no
        , rhythm.rows_in
        , rhythm.rhythm AS value
        , FALSE AS accepted
        , 'abnormal_rhythm' AS reason
    FROM vitaldb.segment_v0 AS segment
    INNER JOIN vitaldb.segment_rhythm_v0 AS rhythm
        ON segment.case_id = rhythm.case_id AND segment.start_s = rhythm.start_s
    WHERE segment.normal_row_no IS NOT NULL AND rhythm.role = 'abnormal'

    UNION ALL
    SELECT
        case_id
        , start_s
        , 'exclusion' AS kind
        , 'normal' AS class
        , 'premature' AS rule
        , 'row' AS source
        , premature_row_no AS source_no
        , premature_beats AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , 'premature' AS reason
    FROM vitaldb.segment_v0
    WHERE normal_row_no IS NOT NULL AND premature_row_no IS NOT NULL

    UNION ALL
    SELECT
        segment.case_id
        , segment.start_s
        , 'exclusion' AS kind
        , 'any' AS class
        , 'gap' AS rule
        , 'gap' AS source
        , gap.row_no AS source_no
        , NULL AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , 'gap' AS reason
    FROM vitaldb.segment_v0 AS segment
    INNER JOIN vitaldb.annotation_gap_v0 AS gap
        ON segment.case_id = gap.case_id
        AND segment.start_s < gap.to_s
        AND segment.start_s + segment.duration_s > gap.from_s

    UNION ALL
    SELECT
        segment.case_id
        , segment.start_s
        , 'exclusion' AS kind
        , 'any' AS class
        , 'no_beat' AS rule
        , 'segment' AS source
        , 0 AS source_no
        , segment.beats AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , 'no_beat' AS reason
    FROM vitaldb.segment_v0 AS segment
    CROSS JOIN params
    WHERE segment.beats < params.min_beats

    UNION ALL
    SELECT
        case_id
        , start_s
        , 'exclusion' AS kind
        , 'any' AS class
        , 'noise' AS rule
        , 'row' AS source
        , noise_row_no AS source_no
        , noise_rows AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , 'noise' AS reason
    FROM vitaldb.segment_v0
    WHERE noise_row_no IS NOT NULL

    UNION ALL
    SELECT
        case_id
        , start_s
        , 'exclusion' AS kind
        , 'any' AS class
        , 'no_rhythm' AS rule
        , 'segment' AS source
        , 0 AS source_no
        , NULL AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , 'no_rhythm' AS reason
    FROM vitaldb.segment_v0
    WHERE rhythm_rows = 0

    UNION ALL
    SELECT
        case_id
        , start_s
        , 'exclusion' AS kind
        , 'any' AS class
        , 'missing_ecg' AS rule
        , 'signal' AS source
        , 0 AS source_no
        , missing_samples AS rows_in
        , NULL AS value
        , FALSE AS accepted
        , reason
    FROM vitaldb.missing_ecg_v0
    WHERE NOT accepted
)

SELECT *
FROM evidence
