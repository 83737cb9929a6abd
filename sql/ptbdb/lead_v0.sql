-- ptbdb.lead v0
-- layer: staging
-- grain: record_id, channel, segment_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: headers of the release; map.heartbeat_lead
--
-- The leads of every record with the samples [first_sample, end_sample) that are loaded. lead is the name of today
-- (ii is lead II), spelling the header's. Where the .xyz file is missing, vx, vy and vz have no samples, and problem
-- says so.

SELECT
    fact.record_id
    , fact.channel
    , fact.segment_no
    , coalesce(known.lead, fact.lead) AS lead
    , fact.lead AS spelling
    , fact.hz
    , fact.first_sample
    , fact.first_sample + fact.n_samples AS end_sample
    , fact.has_samples
    , coalesce(fact.min_count = fact.max_count, FALSE) AS is_constant
    , coalesce(fact.invalid_samples, 0) AS invalid_samples
    , fact.checksum
    , fact.problem
FROM raw_ptbdb.signal_fact AS fact
LEFT JOIN map.heartbeat_lead AS known ON fact.lead = known.spelling
