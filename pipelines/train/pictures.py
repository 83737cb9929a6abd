"""Pictures of a training as PNG: the curves, and how each class came out on validation."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, BLUE, RED, PALE = "#22303c", "#2a6f97", "#c44536", "#cfd8dc"


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120, metadata={"Software": None})
    return buffer.getvalue()


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def loss_picture(record: Mapping[str, Any]) -> bytes:
    """Losses and the metric by epoch; the chosen one is marked."""
    from matplotlib.ticker import MaxNLocator

    lines, chosen = record["epochs"], record["chosen"]["epoch"]
    epochs = [line["epoch"] for line in lines]
    figure, axes = _figure(7, 4)
    axes.plot(epochs, [line["loss"] for line in lines], "o-", color=PALE, ms=4, label="train loss")
    axes.plot(
        epochs, [line["validation_loss"] for line in lines], "o-", color=INK, ms=4, label="validation loss"
    )
    axes.axvline(chosen, color=RED, lw=0.8, ls=":", label=f"chosen: epoch {chosen}")
    axes.set(xlabel="epoch", ylabel="loss", title=record["run"])
    axes.title.set_fontsize(9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    other = axes.twinx()
    other.spines["top"].set_visible(False)
    values = [np.nan if line["metric"] is None else line["metric"] for line in lines]
    other.plot(epochs, values, "s-", color=BLUE, ms=4, label=f"validation {record['primary']}")
    other.set_ylabel(record["primary"], color=BLUE)
    handles = [*axes.get_legend_handles_labels()[0], *other.get_legend_handles_labels()[0]]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return _png(figure)


def classes_picture(
    classes: Sequence[str],
    probabilities: np.ndarray,
    truth: np.ndarray,
    thresholds: Sequence[float | None],
) -> bytes:
    """A bar a class: found, missed, and wrongly named instances of validation at its threshold, with its F."""
    limits = np.array([np.inf if limit is None else limit for limit in thresholds])
    named = probabilities >= limits
    found, missed, wrong = (
        (each & ~np.isnan(truth)).sum(axis=0)
        for each in (named & (truth == 1), ~named & (truth == 1), named & (truth == 0))
    )
    figure, axes = _figure(7, 1.4 + 0.34 * len(classes))
    place = np.arange(len(classes))
    axes.barh(place, found, color=BLUE, label="found")
    axes.barh(place, missed, left=found, color=PALE, label="missed")
    axes.barh(place, -wrong, color=RED, label="named, and not there")
    for y, hits, lost, false in zip(place, found, missed, wrong, strict=True):
        total = 2 * hits + lost + false
        text = f" F {2 * hits / total:.2f}" if total else " never there, never named"
        axes.text(hits + lost, y, text, va="center", fontsize=8, color=INK)
    axes.axvline(0, color=INK, lw=0.8)
    axes.set_yticks(place, classes)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("instances of part validation")
    axes.xaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return _png(figure)


def confusion_picture(classes: Sequence[str], confusion: np.ndarray) -> bytes:
    """Counts (k, k), a row the class and a column what was named, coloured by the share of the row."""
    shares = confusion / np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    size = 2.2 + 0.62 * len(classes)
    figure, axes = _figure(size, size)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for i, row in enumerate(confusion.tolist()):
        for j, count in enumerate(row):
            color = "white" if shares[i, j] > 0.5 else INK
            axes.text(j, i, f"{count:,}", ha="center", va="center", fontsize=8, color=color)
    place = np.arange(len(classes))
    axes.set_xticks(place, classes)
    axes.set_yticks(place, classes)
    axes.set(xlabel="named", ylabel="class", title="part validation")
    axes.title.set_fontsize(9)
    return _png(figure)
