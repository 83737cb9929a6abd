-- task.ecg_heartbeat_balanced_why v0
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-balanced@0; mitbih.beat_why v0; map.mitbih_reason
--
-- Why a beat has its class, and why it is left out where it is: the rows of mitbih.beat_why, and the places of the draw
-- that come after the test part has its number of each class
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
FROM task.ecg_heartbeat_balanced_v0 AS task
INNER JOIN mitbih.beat_why_v0 AS why ON task.record_id = why.record_id AND task.row_no = why.row_no

UNION ALL
SELECT
    task.instance_id
    , 'left_out balance' AS evidence
    , task.record_id
    , NULL AS class
    , 'left_out' AS kind
    , 'balance' AS rule
    , task.class AS value
    , FALSE AS accepted
    , task.left_out AS reason
    , 'task.ecg_heartbeat_balanced_v0' AS view
    , 'split' AS source
    , split.draw_no AS source_no
    , NULL AS source_file
    , NULL AS first_row
    , NULL AS last_row
    , NULL AS said
    , NULL AS map_row
    , upper(substr(reason.meaning, 1, 1)) || substr(reason.meaning, 2) || ' (place ' || split.draw_no
    || ' of the draw, counted from 0).' AS words
FROM task.ecg_heartbeat_balanced_v0 AS task
INNER JOIN split.mitbih AS split ON task.record_id = split.record_id AND task.row_no = split.row_no
LEFT JOIN map.mitbih_reason AS reason ON task.left_out = reason.reason
WHERE task.left_out = 'beyond_balance'
