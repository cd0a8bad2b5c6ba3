"""What pictures of trials have in common: rows with names, whiskers, ticks."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag.reporting.html.number_format import number, signed
from rag.reporting.html.svg import COLOURS, name
from rag.reporting.html.view_model import Material, Mean, TrialRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP = 30
"""Trials that a picture has room for."""
ROW = 0.27
"""Inches per row of a picture."""


def shown_of_total(shown: int, total: int, noun: str = "trials") -> str:
    """Which part of all is shown; empty where it is all."""
    return f"The best {shown} of {total} {noun}; the table has all. " if shown < total else ""


def whisker(axes: "Axes", place: float, found: Mean, colour: str, filled: bool) -> None:
    """A mean with its interval, in a row."""
    if math.isnan(found.mean):
        return
    tint = COLOURS[colour]
    if not math.isnan(found.low + found.high):
        axes.plot([found.low, found.high], [place, place], color=tint, linewidth=1.3, solid_capstyle="butt")
    axes.plot([found.mean], [place], "o", ms=5.5, mec=tint, mew=1.3, mfc=tint if filled else COLOURS["paper"])


def rows(axes: "Axes", rows: Sequence[TrialRow], material: Material) -> None:
    """A row per trial, the recommended one in bold."""
    ticks(axes, [name(row.name) for row in rows], [at for at, row in enumerate(rows) if row is material.chosen])


def ticks(axes: "Axes", names: Sequence[str], chosen: Sequence[int]) -> None:
    """One row per name, the first on top; chosen ones in bold."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=True, axis="x")
    for at in chosen:
        label = axes.get_yticklabels()[at]
        label.set_fontweight("bold")
        label.set_color(COLOURS["accent"])


def log_ticks(axes: "Axes", low: float, high: float) -> None:
    """A logarithmic axis of positive values with ticks at 1, 2 and 5 of every power of ten, as plain figures."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_xscale("log")
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    axes.xaxis.set_major_locator(FixedLocator([step * 10.0**power for power in powers for step in (1, 2, 5)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(low / 1.25, high * 1.25)


def figure_ticks(axes: "Axes", sign: bool = False) -> None:
    """Ticks of an axis of scores without leading zeros."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: signed(value, 2) if sign else number(value, 2)))
