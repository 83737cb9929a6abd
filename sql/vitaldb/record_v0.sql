-- vitaldb.record v0
-- layer: staging
-- grain: case_id
-- shard: case_id
-- stored: yes
-- status: released
-- source: metadata.csv; VitalDB's clinical table; split of vitaldb-arrhythmia-abnormal@0
--
-- One row an annotated case: its analysis window, its patient and the part the patient is in.
--
-- The part belongs to the subject, over all subjects of VitalDB: cases of one patient never span two parts.
-- subject_id and part are NULL where no clinical table was loaded. annotation_rows is metadata's total_beats,
-- which counts rows, markers and noise included, not heartbeats.

SELECT
    metadata.case_id
    , clinical.subject_id
    , split.part
    , metadata.analysis_start_time_sec AS start_s
    , metadata.analysis_end_time_sec AS end_s
    , metadata.total_beats AS annotation_rows
    , clinical.age
    , clinical.sex
    , clinical.asa
    , clinical.department
    , clinical.optype
    , signal.n_samples IS NOT NULL AS has_signal
FROM raw_vitaldb.metadata
LEFT JOIN raw_vitaldb.clinical ON metadata.case_id = clinical.case_id
LEFT JOIN split.vitaldb AS split ON clinical.subject_id = split.subject_id
LEFT JOIN raw_vitaldb.signal_case AS signal ON metadata.case_id = signal.case_id
