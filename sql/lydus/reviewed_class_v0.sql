-- lydus.reviewed_class v0
-- layer: evidence
-- grain: record_id, field, place
-- shard: record_id
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, agreement; map.lydus_reviewed; ambiguity 19
--
-- What the columns reviewed by two clinicians say, a row an entry, with the class that it names (NULL for none). They
-- are a check on the labels, never a source of them. Entries are compared without case, blanks, full stops and
-- apostrophes: A.fib is afib, 1'AVB is 1avb. A premature_beat cell may hold several.
--
-- Any entry of the bundle branch block column counts as CD, a known one or not; no other unknown entry names a class.

WITH cells AS (
    SELECT
        record_id
        , 'rhythm' AS field
        , rhythm AS entry
        , rhythm AS entries
    FROM raw_lydus.record

    UNION ALL
    SELECT
        record_id
        , 'premature_beat' AS field
        , premature_beat AS entry
        , translate(premature_beat, ',/&+;', '|||||') AS entries
    FROM raw_lydus.record

    UNION ALL
    SELECT
        record_id
        , 'bbb' AS field
        , bbb AS entry
        , bbb AS entries
    FROM raw_lydus.record

    UNION ALL
    SELECT
        record_id
        , 'avb' AS field
        , avb AS entry
        , avb AS entries
    FROM raw_lydus.record

    UNION ALL
    SELECT
        record_id
        , 'pacing' AS field
        , pacing AS entry
        , pacing AS entries
    FROM raw_lydus.record
)

, entries AS (
    SELECT
        cells.record_id
        , cells.field
        , CAST(part.place AS INTEGER) AS place
        , cells.entry
        , lower(translate(part.value, ' .''’`', '')) AS value
    FROM cells
    CROSS JOIN unnest(string_split(cells.entries, '|')) WITH ORDINALITY AS part (value, place)
    WHERE cells.entries IS NOT NULL
)

SELECT
    entries.record_id
    , entries.field
    , entries.place
    , entries.entry
    , entries.value
    , coalesce(known.class, CASE WHEN known.value IS NULL THEN other.class END) AS class
    , known.value IS NOT NULL AS known
FROM entries
LEFT JOIN map.lydus_reviewed AS known ON entries.field = known.field AND entries.value = known.value
LEFT JOIN map.lydus_reviewed AS other ON entries.field = other.field AND other.value = '*'
WHERE entries.value <> ''
