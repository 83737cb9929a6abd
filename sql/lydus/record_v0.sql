-- lydus.record v0
-- layer: staging
-- grain: record_id
-- shard: record_id
-- stored: no
-- status: draft
-- source: the release's metadata; split of lydus-ecg-image@0
--
-- One row a record: its group and part, whether the draw took it, what the reviewers wrote, what the machine measured.
--
-- Groups are those of the published split (likely repeat ECGs), else patients where the release names them, else the
-- record itself. None of this may reach an image or a prompt but through lydus.record_label.

SELECT
    record.record_id
    , record.patient_id
    , split.group_id
    , split.part
    , coalesce(split.sampled, FALSE) AS sampled
    , record.age
    , record.sex
    , record.rhythm
    , record.premature_beat
    , record.bbb
    , record.avb
    , record.pacing
    , record.vrate
    , record.arate
    , record.pri
    , record.qrsd
    , record.qti
    , record.qtc
    , signal.has_signal
    , signal.flat
FROM raw_lydus.record
LEFT JOIN split.lydus AS split ON record.record_id = split.record_id
LEFT JOIN raw_lydus.signal_fact AS signal ON record.record_id = signal.record_id
