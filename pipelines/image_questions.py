"""The queries of an image task's page, as a reader can run them with ``leadhouse sql``. ``{view}`` is the task's."""

STREET = """
    SELECT
        (SELECT count(*) FROM raw_lydus.record) AS records
        , (SELECT count(*) FROM raw_lydus.signal_fact WHERE has_signal) AS signals
        , (SELECT count(*) FROM raw_lydus.dx_line) AS lines
        , (SELECT count(*) FROM lydus.dx_statement_v0) AS wordings
        , (SELECT count(*) FROM lydus.class_evidence_v0) AS evidence
        , (SELECT count(*) FROM lydus.class_evidence_v0 WHERE accepted) AS accepted
        , (SELECT count(*) FROM {view} WHERE left_out IS NULL) AS used
        , (SELECT count(*) FROM {view} WHERE left_out IS NULL AND scored) AS labelled
"""

CLASSES = """
    SELECT
        class
        , sum(CASE WHEN part = 'train' THEN records ELSE 0 END) AS train
        , sum(CASE WHEN part = 'validation' THEN records ELSE 0 END) AS validation
        , sum(CASE WHEN part = 'test' THEN records ELSE 0 END) AS test
    FROM lydus.class_count_v0
    GROUP BY class
    ORDER BY class IN ('records', 'scored', 'groups'), test DESC, class
"""

ATTRITION = """
    SELECT
        reason.rank
        , reason.reason
        , reason.meaning
        , sum(attrition.first_records) AS first_records
        , sum(attrition.any_records) AS any_records
    FROM lydus.attrition_v0 AS attrition
    INNER JOIN map.lydus_reason AS reason ON attrition.reason = reason.reason
    GROUP BY ALL
    ORDER BY reason.rank
"""

HEDGED = """
    SELECT
        class
        , part
        , records
    FROM lydus.hedged_would_add_v0
    ORDER BY records DESC, class, part
"""

UNMAPPED = """
    SELECT
        wording
        , lines
    FROM lydus.unmapped_line_v0
    ORDER BY lines DESC, wording
    LIMIT 10
"""

DRAWN = """
    SELECT
        task.part
        , count(*) AS images
        , min(image.noise) AS least_noise
        , max(image.noise) AS most_noise
        , count(*) FILTER (image.warm) AS warm
        , avg(image.bytes) / 1e6 AS megabytes
    FROM {image} AS image
    INNER JOIN {view} AS task ON image.instance_id = task.instance_id
    GROUP BY task.part
    ORDER BY task.part
"""
