-- task.ecg_heartbeat_mi_why v1
-- layer: report
-- grain: instance_id, evidence
-- shard: none
-- stored: no
-- status: draft
-- source: ecg-heartbeat-mi@1; ptbdb.beat_why v0
--
-- Why a heartbeat has its class, and why it is left out where it is: the rows of ptbdb.beat_why
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
FROM task.ecg_heartbeat_mi_v1 AS task
INNER JOIN ptbdb.beat_why_v0 AS why ON task.record_id = why.record_id AND task.peak_no = why.peak_no
