"""Twelve leads in millivolts → the printed page of ECG paper, as the Challenge's generator prints it.

::

    leads in mV ──complete, cut──▶ ten seconds ──draw_page──▶ page ──augment──▶ image ──encode──▶ bytes
      (signals)       (leads)                      (page)             (augment)            (jpeg)

    a page:   settings ──▶ layout ──▶ grid (once) ──▶ strokes ──▶ lettering ──▶ pixels
                              └─────▶ geometry: pixel ↔ lead, second, mV

Only traces, pulses, separators and the frame are drawn for an image; the grid is drawn once and copied, words are
blended from masks that were cut once.
"""
