"""The press: matplotlib's Agg renderer alone, without figure or pyplot, on paper whose grid is already printed.

A thread keeps one press and uses it again for every page of the same settings, so its buffer is not made anew. What
is drawn is what the generator gives the same renderer: polylines in seconds and millivolts with one affine.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipelines.render.layout import PULSE_S, SEPARATOR_MM, SQUARE_MM, Layout, Panel
from pipelines.render.settings import PAGE_SECONDS, PALETTES
from warehouse.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase

Colour = tuple[float, float, float]
BLACK = (0.0, 0.0, 0.0)
TRACE_PT = 0.75
PULSE_PT, SEPARATOR_PT = TRACE_PT * 1.5, TRACE_PT * 3
GRID_PT, FRAME_PT = 0.5, 0.8
SIMPLIFY_FROM, SIMPLIFY_PX = 128, 1 / 9
"""matplotlib's defaults, said here so that no matplotlibrc changes a page: from so many points on, lines are thinned
out by less than a ninth of a pixel."""

_of_thread = threading.local()


def press_for(layout: Layout) -> Press:
    """The press of this thread, built anew when the layout is another one."""
    press = getattr(_of_thread, "press", None)
    if press is None or press.layout is not layout:
        press = _of_thread.press = Press(layout)
    return press


class Press:
    """``canvas`` (H, W, 4) uint8 is the renderer's own buffer: what is drawn appears in it."""

    def __init__(self, layout: Layout) -> None:
        import matplotlib
        from matplotlib.backends.backend_agg import RendererAgg
        from matplotlib.transforms import Affine2D

        if matplotlib.rcParams["agg.path.chunksize"]:
            raise UsageError(
                "matplotlibrc: found agg.path.chunksize, which changes pages", "take that line out"
            )
        self.layout = layout
        self.renderer = RendererAgg(layout.width, layout.height, layout.settings.dpi)
        self.canvas = np.asarray(self.renderer.buffer_rgba())
        self.to_px = Affine2D().scale(layout.px_per_s, layout.px_per_mv)
        self.canvas[...] = 255
        self._print_grid()
        self.paper = self.canvas.copy()

    def clean(self) -> None:
        """Paper with its grid and nothing else."""
        self.canvas[...] = self.paper

    def draw_lead(self, panel: Panel, mv: np.ndarray, hz: float, late_s: float, grey: float) -> None:
        """Pulse, trace and separator of a lead. ``mv`` (n,), NaN = gap, begins ``late_s`` after the panel does."""
        ink = (grey, grey, grey)
        step = 1 / hz
        if panel.is_first:
            self._draw_pulse(panel, step, ink)
        x = np.arange(len(mv)) * step
        if late_s:
            x += late_s
        self._line(_sum(x, panel.left), _sum(mv, panel.base), TRACE_PT, ink)
        if panel.end_s < PAGE_SECONDS:
            x, y = panel.left_s + (panel.end_s - panel.begin_s), panel.baseline_mv
            half = self.layout.mv(SEPARATOR_MM)
            self._line([x, x], [y - half, y + half], SEPARATOR_PT, ink)

    def draw_frame(self) -> None:
        """The black edge of the page. It lies over the traces."""
        right, top = self.layout.width_s, self.layout.height_mv
        for x, y in (
            ([0, 0], [0, top]),
            ([right, right], [0, top]),
            ([0, right], [0, 0]),
            ([0, right], [top, top]),
        ):
            self._line(x, y, FRAME_PT, BLACK)

    def _draw_pulse(self, panel: Panel, step: float, ink: Colour) -> None:
        """1 mV for 0.2 s before the first sample. As the generator's, it leans by a sample and ends in the trace."""
        x = np.arange(0, PULSE_S + 4 * step, step)
        y = np.ones(len(x))
        y[[0, 1, -2, -1]] = 0
        self._line(x + self.layout.margin_s, _sum(y, panel.base), PULSE_PT, ink)

    def _print_grid(self) -> None:
        """Vertical lines, then horizontal ones over them; of each kind the 5-mm lines first."""
        right, top = self.layout.width_s, self.layout.height_mv
        thick, thin = PALETTES[self.layout.settings.palette]
        for end, per_mm, along in (
            (right, self.layout.s(1), lambda at: ([at, at], [0, top])),
            (top, self.layout.mv(1), lambda at: ([0, right], [at, at])),
        ):
            square = SQUARE_MM * per_mm
            for at in np.arange(0, end, square):
                self._line(*along(at), GRID_PT, thick)
            for number, at in enumerate(np.arange(0, end, per_mm)):
                if number % SQUARE_MM:
                    self._line(*along(at), GRID_PT, thin)

    def _line(
        self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray, points: float, ink: Colour
    ) -> None:
        from matplotlib.path import Path

        path = Path(np.column_stack([x, y]))
        path.should_simplify = len(x) >= SIMPLIFY_FROM
        path.simplify_threshold = SIMPLIFY_PX
        self.renderer.draw_path(self._pen(points, ink), path, self.to_px)

    def _pen(self, points: float, ink: Colour) -> GraphicsContextBase:
        pen = self.renderer.new_gc()
        pen.set_linewidth(points)
        pen.set_foreground((*ink, 1.0), isRGBA=True)
        pen.set_joinstyle("round")
        pen.set_capstyle("projecting")
        pen.set_antialiased(True)
        pen.set_snap(None)
        return pen


def _sum(first: np.ndarray, terms: Sequence[float]) -> np.ndarray:
    """One addition after the other: rounded in that order."""
    for term in terms:
        first = first + term
    return first
