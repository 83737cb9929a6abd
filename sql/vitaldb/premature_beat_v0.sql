-- vitaldb.premature_beat v0
-- layer: evidence
-- grain: case_id, row_no
-- shard: case_id
-- stored: no
-- status: released
-- source: vitaldb-arrhythmia-abnormal@0, label.premature_beats; deviation premature_beats
--
-- Beats that map.vitaldb_beat calls premature (S and V), each with the rhythm of its row. U and P are not
-- premature. Nearly every beat inside atrial fibrillation is annotated S: the word says something only where
-- the rhythm is normal, and only there vitaldb.segment_evidence asks.

SELECT
    case_id
    , row_no
    , start_s
    , time_s
    , beat_type
    , rhythm
FROM vitaldb.annotation_v0
WHERE is_premature
