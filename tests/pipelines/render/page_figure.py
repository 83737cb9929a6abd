"""The page once more, by the way the generator takes: a matplotlib figure with axes, ticks, lines and texts.

It knows nothing of ``pipelines.render`` but the settings' names, so what the press leaves out (figure, artists, ticks)
is held against what they would have drawn.
"""

from itertools import pairwise

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import AutoMinorLocator

ROWS = (("III", "aVF", "V3", "V6"), ("II", "aVL", "V2", "V5"), ("I", "aVR", "V1", "V4"))
RED = (1, 0, 0), (0.996, 0.8745, 0.8588)


def draw_figure(leads, hz: int, grey: float, dpi: int = 200, text: bool = True) -> np.ndarray:
    """(8.5 dpi, 11 dpi, 3) uint8: 3 × 4 and a strip of lead II. ``leads``: name → (10 hz,) mV, all twelve."""
    figure = Figure(figsize=(11, 8.5), dpi=dpi)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    right, top = 11 * 0.2 / (5 / 25.4), 8.5 * 0.5 / (5 / 25.4)
    axes.set_xticks(np.arange(0, right, 0.2))
    axes.set_yticks(np.arange(0, top, 0.5))
    axes.xaxis.set_minor_locator(AutoMinorLocator(5))
    axes.yaxis.set_minor_locator(AutoMinorLocator(5))
    for which, colour in zip(("major", "minor"), RED, strict=True):
        axes.grid(which=which, linestyle="-", linewidth=0.5, color=colour)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    axes.tick_params(axis="both", colors="white")
    axes.tick_params(axis="both", which="both", labelbottom=False, labelleft=False)

    ink, step, pitch = (grey, grey, grey), 1 / hz, top / 6
    times = np.arange(0, 0.2 + 4 * step, step)
    pulse = np.r_[0, 0, np.ones(len(times) - 4), 0, 0]
    gap = np.floor((right - 10) / 2 / 0.2) * 0.2
    baseline, quarter = pitch / 2, int(2.5 * hz)
    for row in ROWS:
        baseline += pitch
        axes.plot(times + gap, pulse + baseline, linewidth=1.125, color=ink)
        for column, (lead, following) in enumerate(pairwise((*row, None))):
            piece = leads[lead][column * quarter : (column + 1) * quarter]
            x = np.arange(quarter) * step + column * 2.5 + 0.2 + gap
            axes.plot(x, piece + baseline, linewidth=0.75, color=ink)
            if text:
                axes.text(column * 2.5 + gap + 0.2, baseline - 0.5 - 0.2, lead, fontsize=11)
            if following:
                bar = np.linspace(baseline - 8 / 25.4, baseline + 8 / 25.4, 315)
                axes.plot(np.full(315, 2.5 + column * 2.5 + 0.2 + gap), bar, linewidth=2.25, color=ink)
    axes.plot(times + gap, pulse + pitch / 2 - 0.5 + 0.8, linewidth=1.125, color=ink)
    x = np.arange(10 * hz) * step + gap + 0.2
    axes.plot(x, leads["II"] + pitch / 2 - 0.5 + 0.8, linewidth=0.75, color=ink)
    if text:
        axes.text(gap + 0.2, pitch / 2 - 0.5, "II", fontsize=11)
        axes.text(2, 0.5, "25mm/s", fontsize=11)
        axes.text(4, 0.5, "10mm/mV", fontsize=11)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
