-- vitaldb.quality_interval v0
-- layer: evidence
-- grain: case_id, pairing, marker_row_no
-- shard: case_id
-- stored: no
-- status: released
-- source: annotation files, bad_signal_quality_label; the data group's validation script pairs by number
--
-- Stretches of bad signal quality, read from the Start and End markers in two ways:
--   number     StartK goes with EndK; a Start without its End, or after it, is refused
--   sequence   the first Start after an End (or after the begin of the window) goes with the next End; an End
--              before any Start opens at the window's begin, a Start without an End stays open to its end
-- `assumed` says where a bound is the window's own. Where the window begins inside a bad stretch (cases 1072,
-- 1378, 2191, 2588, 3525, 5697) the numbers are off by one and the two ways disagree.
--
-- Version 0 takes neither: the row's own flag decides (vitaldb.signal_quality). These are evidence beside it.

WITH markers AS (
    SELECT
        case_id
        , row_no
        , time_s
        , marker_kind
        , coalesce(
            marker_no
            , row_number() OVER (PARTITION BY case_id, marker_kind, marker_no IS NULL ORDER BY row_no)
        ) AS marker_no
        , count(CASE WHEN marker_kind = 'end' THEN 1 END) OVER (
            PARTITION BY case_id ORDER BY row_no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS ends_before
    FROM vitaldb.annotation_v0
    WHERE marker_kind IS NOT NULL
)

, extents AS (
    SELECT
        case_id
        , min(time_s) AS from_s
        , max(time_s) AS to_s
    FROM vitaldb.annotation_v0
    GROUP BY case_id
)

, ends AS (
    SELECT
        case_id
        , marker_no
        , max(time_s) AS time_s
    FROM markers
    WHERE marker_kind = 'end'
    GROUP BY case_id, marker_no
)

, blocks AS (
    SELECT
        case_id
        , ends_before
        , min(row_no) AS marker_row_no
        , min(CASE WHEN marker_kind = 'start' THEN time_s END) AS start_s
        , min(CASE WHEN marker_kind = 'end' THEN time_s END) AS end_s
    FROM markers
    GROUP BY case_id, ends_before
)

, paired AS (
    SELECT
        begin.case_id
        , 'number' AS pairing
        , begin.row_no AS marker_row_no
        , begin.time_s AS from_s
        , ends.time_s AS to_s
        , CAST(NULL AS VARCHAR) AS assumed
    FROM markers AS begin
    LEFT JOIN ends ON begin.case_id = ends.case_id AND begin.marker_no = ends.marker_no
    WHERE begin.marker_kind = 'start'

    UNION ALL
    SELECT
        blocks.case_id
        , 'sequence' AS pairing
        , blocks.marker_row_no
        , coalesce(blocks.start_s, CASE WHEN blocks.ends_before = 0 THEN extents.from_s END) AS from_s
        , coalesce(blocks.end_s, extents.to_s) AS to_s
        , CASE
            WHEN blocks.end_s IS NULL THEN 'to_s'
            WHEN blocks.start_s IS NULL AND blocks.ends_before = 0 THEN 'from_s'
        END AS assumed
    FROM blocks
    INNER JOIN extents ON blocks.case_id = extents.case_id
)

SELECT
    case_id
    , pairing
    , marker_row_no
    , from_s
    , to_s
    , assumed
    , coalesce(from_s <= to_s, FALSE) AS accepted
    , CASE
        WHEN from_s IS NULL THEN 'no_start'
        WHEN to_s IS NULL THEN 'no_end'
        WHEN from_s > to_s THEN 'end_before_start'
    END AS reason
FROM paired
