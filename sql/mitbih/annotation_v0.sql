-- mitbih.annotation v0
-- layer: staging
-- grain: record_id, row_no
-- shard: record_id
-- stored: yes
-- status: draft
-- source: reference annotations (.atr) of the release; AAMI EC57 classes by map.mitbih_symbol
--
-- One row an annotation, beat or not, in the order of the file. kind is beat, wave (of a flutter, which AAMI does not
-- count), or event; a symbol that the map does not hold has no kind and is no beat (audit mitbih.symbol_unknown).
--
-- next_sample and following_sample are where the next annotation and the one after it stand, whatever they are:
-- rhythm and noise marks count, so leaving them out before segmenting moves the ends of segments.

WITH annotations AS (
    SELECT
        annotation.record_id
        , annotation.row_no
        , annotation.sample
        , annotation.symbol
        , symbol.kind
        , symbol.class
        , annotation.aux
        , coalesce(symbol.kind = 'beat', FALSE) AS is_beat
        , coalesce(symbol.premature, FALSE) AS is_premature
        , lead(annotation.sample) OVER (PARTITION BY annotation.record_id ORDER BY annotation.row_no) AS next_sample
    FROM raw_mitbih.annotation
    LEFT JOIN map.mitbih_symbol AS symbol ON annotation.symbol = symbol.symbol
)

SELECT
    record_id
    , row_no
    , sample
    , symbol
    , kind
    , class
    , aux
    , is_beat
    , is_premature
    , next_sample
    , lead(next_sample) OVER (PARTITION BY record_id ORDER BY row_no) AS following_sample
FROM annotations
