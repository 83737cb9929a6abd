-- task.ecg_heartbeat_interpatient_why v1
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-interpatient@1; mitbih.beat_why v0; map.mitbih_reason
--
-- Why a beat has its class, and why it is left out where it is: the rows of mitbih.beat_why, and mitbih.paced_record
-- where its record is left out
-- (CONTRIBUTING.md says what the columns are).

SELECT
    task.instance_id
    , why.evidence
    , task.record_id
    , why.class
    , why.kind
    , why.rule
    , why.value
    , why.accepted
    , why.reason
    , why.view
    , why.source
    , why.source_no
    , why.source_file
    , why.first_row
    , why.last_row
    , why.said
    , why.map_row
    , why.words
FROM task.ecg_heartbeat_interpatient_v1 AS task
INNER JOIN mitbih.beat_why_v0 AS why ON task.record_id = why.record_id AND task.row_no = why.row_no

UNION ALL
SELECT
    task.instance_id
    , 'left_out paced' AS evidence
    , task.record_id
    , NULL AS class
    , 'left_out' AS kind
    , 'paced' AS rule
    , NULL AS value
    , FALSE AS accepted
    , 'paced' AS reason
    , 'mitbih.paced_record_v0' AS view
    , 'annotation' AS source
    , paced.first_row_no AS source_no
    , line.source_file
    , paced.first_row_no AS first_row
    , paced.first_row_no AS last_row
    , line.symbol || ' at sample ' || line.sample AS said
    , 'mitbih_symbol: ' || symbol.symbol || ', ' || symbol.class || ', ' || symbol.note AS map_row
    , upper(substr(reason.meaning, 1, 1)) || substr(reason.meaning, 2) || ' (' || paced.paced_beats
    || ', the first is annotation ' || paced.first_row_no || ').' AS words
FROM task.ecg_heartbeat_interpatient_v1 AS task
INNER JOIN mitbih.paced_record_v0 AS paced ON task.record_id = paced.record_id
INNER JOIN raw_mitbih.annotation AS line ON paced.record_id = line.record_id AND paced.first_row_no = line.row_no
LEFT JOIN map.mitbih_symbol AS symbol ON line.symbol = symbol.symbol
LEFT JOIN map.mitbih_reason AS reason ON task.left_out = reason.reason
WHERE task.left_out = 'paced'
