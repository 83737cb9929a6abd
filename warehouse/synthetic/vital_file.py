"""A lead as a .vital file, written by the ``vitaldb`` package, without what changes from run to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warehouse.synthetic.ecg import HZ, Signal

TRACK = "SNUADC/ECG_II"
RATE_TRACK = "Solar8000/HR"
DTSTART = 4_102_444_800.0
"""Every synthetic recording begins at 2100-01-01 UTC: nobody takes it for a real day."""
MINUTES_OF_KOREA = -540
RATE_EVERY_S = 2
LEVEL = 1


def write_vital(path: Path, signal: Signal, *, packed: bool) -> None:
    """Write ``signal`` as track ``SNUADC/ECG_II`` at 500 Hz beside a numeric heart rate.

    The recording begins ``signal.begin_s`` before the first stored sample, so the track is missing there.
    ``packed`` chooses between the package's two layouts: the track in one record, or one record a second and
    none where a whole second is missing. Same signal, same bytes.
    """
    from vitaldb.utils import VitalFile

    file = VitalFile()
    file.dtstart, file.dtend = DTSTART, DTSTART + signal.recording_s
    file.dgmt = MINUTES_OF_KOREA
    seconds = signal.samples.reshape(-1, HZ)
    waves = [
        {"dt": DTSTART + signal.begin_s + second, "val": values}
        for second, values in enumerate(seconds)
        if packed or not np.isnan(values).all()
    ]
    file.add_track(TRACK, waves, srate=HZ, unit="mV", mindisp=-1, maxdisp=2.5)
    at = np.arange(signal.begin_s, signal.recording_s, RATE_EVERY_S)
    rates = signal.rate_bpm[np.searchsorted(signal.rate_at_s, at).clip(0, len(signal.rate_bpm) - 1)]
    numbers = [
        {"dt": DTSTART + second, "val": float(round(rate))}
        for second, rate in zip(at.tolist(), rates.tolist(), strict=True)
    ]
    file.add_track(RATE_TRACK, numbers, unit="/min", mindisp=30, maxdisp=150)
    file.to_vital(str(path), compresslevel=LEVEL, packed=packed)
    with path.open("r+b") as handle:  # the gzip header's time of writing
        handle.seek(4)
        handle.write(bytes(4))
