-- lydus.special_line v0
-- layer: report
-- grain: item, part
-- shard: none
-- stored: no
-- status: draft
-- source: lydus-ecg-image@0, stated; ambiguities 7, 8 and 13
--
-- The counts of single lines that the spec states, by part of the used sampled records, and for part 'release' over
-- all records:
--   injury               a definite injury statement      injury_without_mi  the same without Acute or Old MI
--   early_repolarization the line that only begins statement 902
--   probably_acute_mi    a line "probably acute MI (…)": hedged, no Acute MI
--   ischemia_no_class    a definite ischemia of a region that the STTC list leaves out

WITH matches AS (
    SELECT
        code.statement_id
        , CASE WHEN code.phrase LIKE '%injury%' THEN 'injury' ELSE 'ischemia_no_class' END AS item
    FROM lydus.dx_code_evidence_v0 AS code
    WHERE code.accepted AND (code.phrase LIKE '%injury%' OR (code.phrase LIKE '%ischemia%' AND code.class IS NULL))

    UNION ALL
    SELECT
        statement_id
        , CASE
            WHEN line_key = 'stelevationconsiderearlyrepolarization' THEN 'early_repolarization'
            ELSE 'probably_acute_mi'
        END AS item
    FROM lydus.dx_statement_v0
    WHERE line_key = 'stelevationconsiderearlyrepolarization' OR starts_with(said, 'probably acute mi')
)

, records AS (
    SELECT DISTINCT
        line.record_id
        , matches.item
    FROM raw_lydus.dx_line AS line
    INNER JOIN lydus.dx_text_v0 AS wording ON line.text_id = wording.text_id
    INNER JOIN matches ON wording.statement_id = matches.statement_id
    LEFT JOIN lydus.comparison_section_v0 AS section ON line.record_id = section.record_id
    WHERE line.line_no <= coalesce(section.line_no, line.line_no)
)

, items AS (
    SELECT
        record_id
        , item
    FROM records

    UNION ALL
    SELECT
        records.record_id
        , 'injury_without_mi' AS item
    FROM records
    INNER JOIN lydus.record_label_v0 AS label ON records.record_id = label.record_id
    WHERE records.item = 'injury' AND NOT label.acute_mi AND NOT label.old_mi
)

SELECT
    items.item
    , used.part
    , count(*) AS records
FROM items
INNER JOIN task.lydus_ecg_image_v0 AS used ON items.record_id = used.record_id
WHERE used.left_out IS NULL
GROUP BY items.item, used.part

UNION ALL
SELECT
    item
    , 'release' AS part
    , count(*) AS records
FROM items
GROUP BY item
