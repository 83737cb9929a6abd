-- mitbih.rhythm_span v0
-- layer: evidence
-- grain: record_id, row_no
-- shard: record_id
-- stored: no
-- status: draft
-- source: notes of the annotations '+' of the release, named by map.mitbih_rhythm
--
-- A rhythm holds from the sample where it is noted to the next note of a rhythm, or to the end of the record. row_no is
-- the annotation that begins it. A note that the map does not hold keeps its own text and is not accepted.

WITH notes AS (
    SELECT
        annotation.record_id
        , annotation.row_no
        , annotation.sample
        , annotation.aux
        , known.rhythm
        , lead(annotation.sample) OVER (
            PARTITION BY annotation.record_id ORDER BY annotation.row_no
        ) AS next_note
    FROM mitbih.annotation_v0 AS annotation
    LEFT JOIN map.mitbih_rhythm AS known ON annotation.aux = known.note
    WHERE annotation.symbol = '+'
)

SELECT
    notes.record_id
    , notes.row_no
    , notes.sample AS begin_sample
    , coalesce(notes.next_note, record.n_samples) AS end_sample
    , coalesce(notes.rhythm, notes.aux) AS rhythm
    , notes.rhythm IS NOT NULL AS accepted
    , CASE WHEN notes.rhythm IS NULL THEN 'unknown_note' END AS reason
FROM notes
INNER JOIN mitbih.record_v0 AS record ON notes.record_id = record.record_id
