-- task.lydus_ecg_image_why v0
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0; map.dx_phrase, map.dx_code, map.lydus_whole_line, map.lydus_reason
--
-- Why a record has its classes: every row of lydus.class_evidence of the task's records, and of lydus.exclusion, with
-- the line as the release has it, its phrase, what the maps make of it, the hedge before it, and a sentence. The
-- columns are those of every why view (CONTRIBUTING.md); place, phrase and hedge follow. Nothing is decided here.
--
-- first_row and last_row are the record's line in source_file, source_no the line of its statement. hedge holds the
-- words of the clause that a reason speaks of: hedges and denials to the left, "or", "-or-" and question marks.
-- A record without any candidate has one row, rule no_candidate.

WITH evidence AS (
    SELECT
        task.instance_id
        , task.record_id
        , coalesce(fact.class, 'any') AS class
        , coalesce(fact.kind, 'exclusion') AS kind
        , coalesce(fact.rule, 'no_candidate') AS rule
        , fact.value
        , CASE WHEN fact.record_id IS NULL THEN 'no_candidate' ELSE fact.reason END AS reason
        , 'lydus.class_evidence_v0' AS view
        , coalesce(fact.source, 'record') AS source
        , CAST(coalesce(fact.source_no, 0) AS BIGINT) AS source_no
        , fact.statement_id
        , coalesce(fact.place, 0) AS place
        , fact.phrase
    FROM task.lydus_ecg_image_v0 AS task
    LEFT JOIN lydus.class_evidence_v0 AS fact ON task.record_id = fact.record_id

    UNION ALL
    SELECT
        task.instance_id
        , task.record_id
        , NULL AS class
        , 'left_out' AS kind
        , fact.rule
        , NULL AS value
        , fact.reason
        , 'lydus.exclusion_v0' AS view
        , fact.source
        , CAST(fact.source_no AS BIGINT) AS source_no
        , NULL AS statement_id
        , 0 AS place
        , NULL AS phrase
    FROM lydus.exclusion_v0 AS fact
    INNER JOIN task.lydus_ecg_image_v0 AS task ON fact.record_id = task.record_id
)

-- A hedge belongs to a finding when no reset stands between them: a clause runs from one reset to the next, as in
-- lydus.dx_finding.
, reasons AS (
    SELECT
        evidence.instance_id
        , evidence.record_id
        , evidence.class
        , evidence.kind
        , evidence.rule
        , evidence.value
        , evidence.reason
        , evidence.view
        , evidence.source
        , evidence.source_no
        , evidence.place
        , evidence.phrase
        , string_agg(DISTINCT known.meaning, '; and ' ORDER BY known.meaning) AS meaning
        , string_agg(
            CASE WHEN reset.place IS NULL THEN '"' || hedge.phrase || '"' END
            , ', ' ORDER BY hedge.place
        ) AS hedge
    FROM evidence
    LEFT JOIN map.lydus_reason AS known
        ON strpos(' + ' || evidence.reason || ' + ', ' + ' || known.reason || ' + ') > 0
    LEFT JOIN lydus.dx_hit_v0 AS hedge
        ON evidence.statement_id = hedge.statement_id
        AND known.reason = CASE hedge.kind
            WHEN 'hedge' THEN 'hedged_' || hedge.hedge_source
            WHEN 'negation' THEN 'negated'
            WHEN 'either' THEN 'either_or'
            WHEN 'or' THEN 'or_alternative'
        END
        AND (hedge.place < evidence.place OR hedge.kind = 'either')
        AND hedge.accepted
    LEFT JOIN lydus.dx_hit_v0 AS reset
        ON hedge.statement_id = reset.statement_id
        AND reset.kind = 'reset'
        AND reset.accepted
        AND reset.place > least(hedge.place, evidence.place)
        AND reset.place <= greatest(hedge.place, evidence.place)
    GROUP BY
        evidence.instance_id
        , evidence.record_id
        , evidence.class
        , evidence.kind
        , evidence.rule
        , evidence.value
        , evidence.reason
        , evidence.view
        , evidence.source
        , evidence.source_no
        , evidence.place
        , evidence.phrase
)

, lines AS (
    SELECT
        line.record_id
        , line.line_no
        , wording.text
    FROM raw_lydus.dx_line AS line
    INNER JOIN raw_lydus.dx_text AS wording ON line.text_id = wording.text_id
)

, facts AS (
    SELECT
        reasons.instance_id
        , reasons.record_id
        , reasons.class
        , reasons.kind
        , reasons.rule
        , reasons.value
        , reasons.reason
        , reasons.view
        , reasons.source
        , reasons.source_no
        , reasons.place
        , reasons.phrase
        , reasons.hedge
        , record.source_file
        , record.row_no
        , wording.text AS said
        , CASE
            WHEN reasons.rule = 'code'
                THEN
                    'dx_phrase: ' || reasons.phrase || '; dx_code: ' || reasons.value
                    || coalesce(', ' || code.name || ', ' || coalesce(code.class, 'no class'), '')
            WHEN whole.key IS NOT NULL
                THEN
                    'lydus_whole_line: ' || whole.text || ', ' || whole.kind
                    || coalesce(', statement ' || whole.statement_no, '')
        END AS map_row
        , 'Line ' || reasons.source_no || ' says "' || wording.text || '"' AS line
        , CASE
            WHEN reasons.rule = 'code'
                THEN
                    'its phrase "' || reasons.phrase || '" is code ' || reasons.value
                    || coalesce(' (' || code.name || ')', '')
            WHEN whole.key IS NULL THEN 'its phrase "' || reasons.phrase || '"'
            WHEN whole.statement_no IS NULL THEN 'as a whole the older wording of such a line'
            ELSE 'as a whole the listed statement ' || whole.statement_no
        END AS finding
        , reasons.meaning
        || CASE WHEN reasons.hedge IS NULL THEN '' ELSE ' (here ' || reasons.hedge || ')' END
        || CASE
            WHEN strpos(reasons.reason, 'serial_comparison') > 0 AND section.line_no < reasons.source_no
                THEN ' (the comparison begins in line ' || section.line_no || ')'
            ELSE ''
        END AS meaning
    FROM reasons
    INNER JOIN raw_lydus.record AS record ON reasons.record_id = record.record_id
    LEFT JOIN lines AS wording
        ON reasons.record_id = wording.record_id AND reasons.source = 'line' AND reasons.source_no = wording.line_no
    LEFT JOIN map.dx_code AS code ON reasons.rule = 'code' AND reasons.value = CAST(code.code AS VARCHAR)
    LEFT JOIN map.lydus_whole_line AS whole
        ON reasons.rule = 'whole_line' AND reasons.place = 0 AND reasons.phrase = whole.text
    LEFT JOIN lydus.comparison_section_v0 AS section ON reasons.record_id = section.record_id
)

SELECT
    instance_id
    , concat_ws(' ', kind, rule, class, source_no, place, value) AS evidence
    , record_id
    , class
    , kind
    , rule
    , value
    , reason IS NULL AS accepted
    , reason
    , view
    , source
    , source_no
    , source_file
    , CAST(row_no AS INTEGER) AS first_row
    , CAST(row_no AS INTEGER) AS last_row
    , said
    , map_row
    , CASE
        WHEN kind = 'exclusion' AND rule = 'whole_line'
            THEN line || ': ' || finding || '. It takes ' || class || ' from the record (' || meaning || ')'
        WHEN line IS NULL THEN upper(substr(meaning, 1, 1)) || substr(meaning, 2)
        WHEN kind = 'left_out' THEN line || ': ' || meaning
        WHEN reason IS NULL THEN line || ': ' || finding || ', class ' || class
        ELSE line || ': ' || finding || ', class ' || class || '. Refused: ' || meaning
    END || '.' AS words
    , place
    , phrase
    , hedge
FROM facts
