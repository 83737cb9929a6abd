"""The queries of the report, as a reader can run them with ``leadhouse sql``. ``{view}`` and ``{target}`` are the
task's view and its class column."""

STREET = """
    SELECT
        (SELECT count(DISTINCT source_file) FROM raw_vitaldb.annotation) AS files
        , (SELECT count(*) FROM raw_vitaldb.annotation) AS lines
        , (SELECT count(*) FROM raw_vitaldb.signal_case) AS signals
        , (SELECT count(*) FROM vitaldb.annotation_v0 WHERE is_beat) AS beats
        , (SELECT count(*) FROM vitaldb.segment_v0) AS segments
        , (SELECT count(*) FROM vitaldb.segment_evidence_v0) AS evidence
        , (SELECT count(*) FROM {view} WHERE scored) AS labelled
        , (SELECT count(*) FROM {view} WHERE scored AND {target}) AS positive
"""

PARTS = """
    SELECT
        coalesce(part, 'unassigned') AS name
        , count(DISTINCT group_id) AS groups
        , count(DISTINCT record_id) AS cases
        , count(*) FILTER (left_out IS NULL) AS records
        , count(*) FILTER (left_out IS NULL AND scored AND {target}) AS positive
        , count(*) FILTER (left_out IS NULL AND scored AND NOT {target}) AS negative
        , count(*) FILTER (left_out IS NULL AND NOT scored) AS unlabelled
        , count(*) FILTER (left_out IS NOT NULL) AS left_out
    FROM {view}
    GROUP BY part
    ORDER BY list_position(['train', 'validation', 'test'], part) NULLS LAST
"""

LEFT_OUT = """
    SELECT
        left_out AS why
        , part
        , count(*) AS segments
        , count(*) FILTER (scored) AS labelled
    FROM {view}
    WHERE left_out IS NOT NULL
    GROUP BY ALL
    ORDER BY why, part
"""

ATTRITION = """
    SELECT
        reason.rank
        , reason.reason
        , reason.meaning
        , attrition.first_segments
        , attrition.any_segments
    FROM vitaldb.attrition_v0 AS attrition
    INNER JOIN map.vitaldb_reason AS reason ON attrition.reason = reason.reason
    ORDER BY reason.rank
"""

RHYTHMS = """
    SELECT
        rhythm.rhythm
        , rhythm.note
        , rhythm.role
        , counted.segments
        , counted.cases
    FROM vitaldb.rhythm_count_v0 AS counted
    INNER JOIN map.vitaldb_rhythm AS rhythm ON counted.rhythm = rhythm.spelling
    ORDER BY counted.segments DESC, rhythm.rhythm
"""

ROLES = """
    SELECT
        rhythm
        , role
        , note
    FROM map.vitaldb_rhythm
    WHERE spelling = rhythm
    ORDER BY rhythm
"""

REASONS = """
    SELECT
        rank
        , reason
        , refuses
        , meaning
    FROM map.vitaldb_reason
    ORDER BY rank
"""

EARLY = """
    SELECT
        beat_type
        , note
    FROM map.vitaldb_beat
    WHERE premature
    ORDER BY beat_type
"""

CLOCK = """
    SELECT
        clock
        , ecg
        , count(DISTINCT record_id) AS cases
        , count(*) AS segments
    FROM {view}
    GROUP BY ALL
    ORDER BY segments DESC
"""
