-- mitbih.paced_record v0
-- layer: evidence
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: AAMI EC57, which leaves records with paced beats out; map.mitbih_symbol
--
-- Records that hold a paced beat, with how many: 102, 104, 107 and 217 of the release. Nearly all beats of class Q are
-- theirs, so a model of five classes learns of Q mostly what a pacemaker looks like.

SELECT
    beat.record_id
    , CAST(count(*) AS INTEGER) AS paced_beats
    , min(beat.row_no) AS first_row_no
FROM mitbih.beat_v0 AS beat
INNER JOIN map.mitbih_symbol AS symbol ON beat.symbol = symbol.symbol
WHERE symbol.paced
GROUP BY beat.record_id
