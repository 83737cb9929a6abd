-- ptbdb.beat_why v0
-- layer: report
-- grain: record_id, peak_no, evidence
-- shard: record_id
-- stored: no
-- status: draft
-- source: map.ptbdb_admission, map.ptbdb_reason
--
-- Why a heartbeat has its class, and why it is left out where it is, whatever the task: the reasons for admission of
-- its record's header (ptbdb.diagnosis), the record's reason where they give no class, and the refusal of its segment
-- (ptbdb.segment). Nothing is decided here. A reason for admission without a class leaves the beat out, unless another
-- one gives it; two reasons of different classes exclude both.

WITH evidence AS (
    SELECT
        beat.record_id
        , beat.peak_no
        , 'diagnosis ' || said.row_no AS evidence
        , said.class
        , CASE WHEN said.accepted OR label.class IS NOT NULL THEN 'candidate' ELSE 'left_out' END AS kind
        , 'diagnosis' AS rule
        , said.admission AS value
        , said.accepted
        , said.reason
        , 'ptbdb.diagnosis_v0' AS view
        , 'line' AS source
        , CAST(said.row_no AS BIGINT) AS source_no
        , said.row_no AS line_no
        , 'ptbdb_admission: ' || known.admission || ', ' || coalesce(known.class, 'no class') AS map_row
        , 'line ' || said.row_no || ' of the header gives ' || coalesce(nullif(said.admission, ''), 'nothing')
        || ' as the reason for admission' || coalesce(', class ' || said.class, '') AS detail
    FROM ptbdb.segment_v0 AS beat
    INNER JOIN ptbdb.diagnosis_v0 AS said ON beat.record_id = said.record_id
    INNER JOIN ptbdb.record_label_v0 AS label ON beat.record_id = label.record_id
    LEFT JOIN map.ptbdb_admission AS known ON lower(said.admission) = known.admission

    UNION ALL
    SELECT
        beat.record_id
        , beat.peak_no
        , 'record' AS evidence
        , NULL AS class
        , 'left_out' AS kind
        , 'record' AS rule
        , NULL AS value
        , FALSE AS accepted
        , label.reason
        , 'ptbdb.record_label_v0' AS view
        , 'record' AS source
        , 0 AS source_no
        , NULL AS line_no
        , NULL AS map_row
        , NULL AS detail
    FROM ptbdb.segment_v0 AS beat
    INNER JOIN ptbdb.record_label_v0 AS label ON beat.record_id = label.record_id
    WHERE label.reason IN ('no_diagnosis', 'contradiction')

    UNION ALL
    SELECT
        beat.record_id
        , beat.peak_no
        , 'both' AS evidence
        , 'any' AS class
        , 'exclusion' AS kind
        , 'both' AS rule
        , NULL AS value
        , FALSE AS accepted
        , label.reason
        , 'ptbdb.record_label_v0' AS view
        , 'record' AS source
        , 0 AS source_no
        , NULL AS line_no
        , NULL AS map_row
        , NULL AS detail
    FROM ptbdb.segment_v0 AS beat
    INNER JOIN ptbdb.record_label_v0 AS label ON beat.record_id = label.record_id
    WHERE label.reason = 'contradiction'

    UNION ALL
    SELECT
        beat.record_id
        , beat.peak_no
        , 'segment' AS evidence
        , NULL AS class
        , 'left_out' AS kind
        , 'segment' AS rule
        , NULL AS value
        , beat.accepted
        , beat.reason
        , 'ptbdb.segment_v0' AS view
        , 'peak' AS source
        , beat.peak_no AS source_no
        , NULL AS line_no
        , NULL AS map_row
        , 'peak ' || beat.peak_no || ' stands at sample ' || beat.begin_sample
        || coalesce(', its segment would end at ' || beat.end_sample, '') AS detail
    FROM ptbdb.segment_v0 AS beat
    WHERE NOT beat.accepted
)

, worded AS (
    SELECT
        evidence.*
        , raw.source_file
        , line.text AS said
        , concat_ws(': ', reason.meaning, evidence.detail) AS words
    FROM evidence
    INNER JOIN raw_ptbdb.record AS raw ON evidence.record_id = raw.record_id
    LEFT JOIN raw_ptbdb.comment AS line
        ON evidence.record_id = line.record_id AND evidence.line_no = line.row_no
    LEFT JOIN map.ptbdb_reason AS reason ON evidence.reason = reason.reason
)

SELECT
    record_id
    , peak_no
    , kind || ' ' || evidence AS evidence
    , class
    , kind
    , rule
    , value
    , accepted
    , reason
    , view
    , source
    , source_no
    , CASE WHEN rule <> 'segment' THEN source_file END AS source_file
    , line_no AS first_row
    , line_no AS last_row
    , said
    , map_row
    , upper(substr(words, 1, 1)) || substr(words, 2) || '.' AS words
FROM worded
