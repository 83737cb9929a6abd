-- vitaldb.clock_beyond_tolerance v0
-- layer: audit
-- grain: case_id
-- shard: none
-- stored: no
-- status: released
-- source: vitaldb.clock_offset v0
--
-- Cases whose annotations do not lie on their waveform: a label there speaks of another stretch of signal.

SELECT
    case_id
    , offset_ms
    , matched
    , beats
    , reason
FROM vitaldb.clock_offset_v0
WHERE NOT accepted
