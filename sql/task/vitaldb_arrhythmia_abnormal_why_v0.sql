-- task.vitaldb_arrhythmia_abnormal_why v0
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: vitaldb-arrhythmia-abnormal@0; map.vitaldb_reason, map.vitaldb_left_out
--
-- Why a segment has its label: every row of vitaldb.segment_evidence with the lines of the annotation file that it
-- rests on, what they say, and a sentence. The columns are those of every why view (CONTRIBUTING.md). Nothing is
-- decided here: rows are joined to their lines and put into words.
--
-- first_row and last_row are lines of source_file: of a rhythm, noise or flag the first and last that carry it in the
-- segment, of a run its bounds, of a gap the rows on both sides, of a segment without beat or rhythm all its rows. A
-- line between may be something else. said holds the rhythm as the file spells it, the beats, or from when to when.

WITH evidence AS (
    SELECT
        task.instance_id
        , task.record_id
        , task.start_s
        , task.duration_s
        , fact.kind
        , fact.class
        , fact.rule
        , fact.value
        , fact.rows_in
        , fact.accepted
        , fact.reason
        , 'vitaldb.segment_evidence_v0' AS view
        , fact.source
        , fact.source_no
    FROM vitaldb.segment_evidence_v0 AS fact
    INNER JOIN task.vitaldb_arrhythmia_abnormal_v0 AS task
        ON fact.case_id = task.record_id AND fact.start_s = task.start_s

    UNION ALL
    SELECT
        instance_id
        , record_id
        , start_s
        , duration_s
        , 'left_out' AS kind
        , NULL AS class
        , left_out AS rule
        , NULL AS value
        , NULL AS rows_in
        , FALSE AS accepted
        , left_out AS reason
        , CASE left_out WHEN 'no_subject' THEN 'vitaldb.record_v0' ELSE 'vitaldb.segment_label_v0' END AS view
        , CASE left_out WHEN 'no_subject' THEN 'record' ELSE 'row' END AS source
        , 0 AS source_no
    FROM task.vitaldb_arrhythmia_abnormal_v0
    WHERE left_out IS NOT NULL
)

, segments AS (
    SELECT
        case_id
        , start_s
        , min(row_no) AS first_row
        , max(row_no) AS last_row
        , max(CASE WHEN role = 'not_scored' THEN row_no END) AS last_noise
        , min(CASE WHEN bad_signal_quality THEN row_no END) AS first_flagged
        , max(CASE WHEN bad_signal_quality THEN row_no END) AS last_flagged
        , count(CASE WHEN bad_signal_quality THEN 1 END) AS flagged_rows
        , max(CASE WHEN is_premature THEN row_no END) AS last_premature
        , string_agg(
            CASE
                WHEN is_premature
                    THEN beat_type || ' in line ' || row_no || ' at ' || round(time_s * 1000) / 1000 || ' s'
            END
            , ', ' ORDER BY row_no
        ) AS premature
    FROM vitaldb.annotation_v0
    GROUP BY case_id, start_s
)

, rhythms AS (
    SELECT
        case_id
        , start_s
        , rhythm
        , max(row_no) AS last_row
    FROM vitaldb.annotation_v0
    WHERE rhythm IS NOT NULL
    GROUP BY case_id, start_s, rhythm
)

, gaps AS (
    SELECT
        gap.case_id
        , gap.row_no
        , max(line.row_no) AS before_row
        , CAST(round(gap.from_s * 1000) / 1000 AS VARCHAR) AS from_s
        , CAST(round(gap.to_s * 1000) / 1000 AS VARCHAR) AS to_s
    FROM vitaldb.annotation_gap_v0 AS gap
    INNER JOIN vitaldb.annotation_v0 AS line ON gap.case_id = line.case_id AND line.row_no < gap.row_no
    GROUP BY gap.case_id, gap.row_no, gap.from_s, gap.to_s
)

, runs AS (
    SELECT
        case_id
        , run_no
        , last_row_no
        , CAST(round(from_s * 1000) / 1000 AS VARCHAR) AS from_s
        , CAST(round(to_s * 1000) / 1000 AS VARCHAR) AS to_s
        , CAST(round((to_s - from_s) * 1000) / 1000 AS VARCHAR) AS lasts_s
    FROM vitaldb.normal_context_v0
)

, files AS (
    SELECT
        case_id
        , min(source_file) AS source_file
    FROM raw_vitaldb.annotation
    GROUP BY case_id
)

, facts AS (
    SELECT
        evidence.instance_id
        , evidence.record_id
        , evidence.kind
        , evidence.class
        , evidence.rule
        , evidence.value
        , evidence.accepted
        , evidence.reason
        , evidence.view
        , evidence.source
        , CASE evidence.rule
            WHEN 'bad_signal_quality' THEN segment.first_flagged
            ELSE evidence.source_no
        END AS source_no
        , CASE evidence.source
            WHEN 'signal' THEN signal.source_file
            ELSE files.source_file
        END AS source_file
        , CASE evidence.rule
            WHEN 'no_beat' THEN segment.first_row
            WHEN 'no_rhythm' THEN segment.first_row
            WHEN 'bad_signal_quality' THEN segment.first_flagged
            WHEN 'gap' THEN gap.before_row
            ELSE nullif(evidence.source_no, 0)
        END AS first_row
        , CASE evidence.rule
            WHEN 'rhythm' THEN rhythm.last_row
            WHEN 'abnormal_rhythm' THEN rhythm.last_row
            WHEN 'normal_context' THEN run.last_row_no
            WHEN 'premature' THEN segment.last_premature
            WHEN 'noise' THEN segment.last_noise
            WHEN 'no_beat' THEN segment.last_row
            WHEN 'no_rhythm' THEN segment.last_row
            WHEN 'bad_signal_quality' THEN segment.last_flagged
            ELSE nullif(evidence.source_no, 0)
        END AS last_row
        , CASE evidence.rule
            WHEN 'normal_context' THEN run.from_s || ' to ' || run.to_s || ' s'
            WHEN 'premature' THEN segment.premature
            WHEN 'gap' THEN gap.from_s || ' to ' || gap.to_s || ' s'
            WHEN 'missing_ecg' THEN evidence.rows_in || ' of ' || evidence.duration_s * signal.hz || ' samples'
            ELSE line.rhythm_label
        END AS said
        , CASE
            WHEN evidence.rule IN ('rhythm', 'abnormal_rhythm', 'noise')
                THEN 'vitaldb_rhythm: ' || spelling.spelling || ', ' || spelling.rhythm || ', ' || spelling.role
            WHEN evidence.rule = 'premature' THEN 'vitaldb_beat: ' || beat.beat_type || ', ' || beat.note
        END AS map_row
        , line.rhythm_label
        || CASE WHEN line.rhythm_label <> evidence.value THEN ' (' || evidence.value || ')' ELSE '' END AS rhythm
        , ' in ' || evidence.rows_in || CASE WHEN evidence.rows_in = 1 THEN ' row' ELSE ' rows' END
        || ', the first in line ' || evidence.source_no AS in_rows
        , segment.flagged_rows || CASE WHEN segment.flagged_rows = 1 THEN ' row' ELSE ' rows' END
        || ', from line ' || segment.first_flagged || ' on' AS flagged
        , 'lines ' || segment.first_row || ' to ' || segment.last_row AS lines
        , 'run of normal rhythm from ' || run.from_s || ' to ' || run.to_s || ' s (' || run.lasts_s || ' s, lines '
        || evidence.source_no || ' to ' || run.last_row_no || ')' AS run
        , 'from ' || gap.from_s || ' s in line ' || gap.before_row || ' to ' || gap.to_s || ' s in line '
        || evidence.source_no AS gap
        , upper(substr(coalesce(reason.meaning, known.meaning), 1, 1))
        || substr(coalesce(reason.meaning, known.meaning), 2) AS meaning
    FROM evidence
    LEFT JOIN map.vitaldb_reason AS reason ON evidence.reason = reason.reason
    LEFT JOIN map.vitaldb_left_out AS known ON evidence.reason = known.reason
    LEFT JOIN files ON evidence.record_id = files.case_id
    LEFT JOIN raw_vitaldb.annotation AS line
        ON evidence.record_id = line.case_id AND evidence.source_no = line.row_no
    LEFT JOIN map.vitaldb_rhythm AS spelling ON line.rhythm_label = spelling.spelling
    LEFT JOIN map.vitaldb_beat AS beat ON line.beat_type = beat.beat_type
    LEFT JOIN segments AS segment
        ON evidence.record_id = segment.case_id AND evidence.start_s = segment.start_s
    LEFT JOIN rhythms AS rhythm
        ON evidence.record_id = rhythm.case_id
        AND evidence.start_s = rhythm.start_s
        AND evidence.value = rhythm.rhythm
    LEFT JOIN runs AS run ON evidence.record_id = run.case_id AND evidence.source_no = run.run_no
    LEFT JOIN gaps AS gap ON evidence.record_id = gap.case_id AND evidence.source_no = gap.row_no
    LEFT JOIN raw_vitaldb.signal_case AS signal ON evidence.record_id = signal.case_id
)

SELECT
    instance_id
    , kind || ' ' || rule || ' ' || source_no AS evidence
    , record_id
    , class
    , kind
    , rule
    , value
    , accepted
    , reason
    , view
    , source
    , CAST(source_no AS BIGINT) AS source_no
    , source_file
    , CAST(first_row AS INTEGER) AS first_row
    , CAST(last_row AS INTEGER) AS last_row
    , said
    , map_row
    , CASE
        WHEN rule = 'rhythm' THEN 'The segment carries ' || rhythm || in_rows
        WHEN accepted THEN 'The segment lies inside the ' || run
        WHEN rule = 'normal_context' THEN meaning || ': the ' || run || ' does not'
        WHEN rule IN ('abnormal_rhythm', 'noise') THEN meaning || ': ' || rhythm || in_rows
        WHEN rule = 'bad_signal_quality' THEN meaning || ' (' || flagged || ')'
        WHEN rule = 'premature' THEN meaning || ': ' || said
        WHEN rule = 'gap' THEN meaning || ': ' || gap
        WHEN rule = 'missing_ecg' THEN meaning || ': ' || said
        ELSE meaning || coalesce(' (' || lines || ')', '')
    END || '.' AS words
FROM facts
