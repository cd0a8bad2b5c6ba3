"""The trade-off between quality and latency, as a picture."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag.core.figures import figure
from rag.reporting.html.svg import COLOURS, TOP, Chart, drawn, figure_ticks, log_ticks, name
from rag.reporting.html.view_model import Material, TrialRow
from rag.reporting.number_format import BYTES, COST, LATENCY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pareto(material: Material) -> Chart | None:
    """Quality against latency, with areas by index size or cost, and a line through the trials of the Pareto front."""
    rows = [row for row in material.done if row.measured.get(LATENCY, 0) > 0 and not math.isnan(material.quality(row).mean)]
    if len(rows) < 2:
        return None
    by = COST if any(row.measured.get(COST) for row in rows) else BYTES
    most = max((row.measured.get(by, 0.0) for row in rows), default=0.0) or 1.0
    front = sorted((row for row in rows if row.front), key=lambda row: row.measured[LATENCY])
    stair = _stair(front, material)

    def draw(axes: "Axes") -> None:
        spread = [row.measured[LATENCY] for row in rows]
        log_ticks(axes, min(spread), max(spread))
        axes.grid(visible=True)
        axes.spines["left"].set_visible(True)
        style: dict[str, Any] = {"color": COLOURS["accent"], "linewidth": 1, "drawstyle": "steps-post"}
        axes.plot([r.measured[LATENCY] for r in stair], [material.quality(r).mean for r in stair], **style)
        for row in rows:
            _point(axes, row, row.measured.get(by, 0.0) / most, material)
        _labels(axes, stair, material)
        figure_ticks(axes.yaxis)
        axes.set_xlabel("latency, 95th percentile in ms (logarithmic)")
        axes.set_ylabel(material.measure)

    caption = f"Quality against latency; the area is the {'cost' if by == COST else 'size of the index'}. Filled: the tied set."
    if front:
        caption += f" Blue: the {len(front)} that no other trial beats in one thing without being worse in another; the line"
        caption += " goes up where a slower one scores more."
    text = "; ".join(
        f"{row.name}: {figure(material.quality(row).mean)} at {figure(row.measured[LATENCY], 1)} ms" for row in front[:TOP]
    )
    return drawn("pareto", "Quality against latency", f"On the front: {text or 'not known'}", caption, 4.6, draw)


def _labels(axes: "Axes", front: Sequence[TrialRow], material: Material) -> None:
    """Label the trials of the front and the recommended one, if the labels do not overlap."""
    chosen = [material.chosen] if material.chosen and LATENCY in material.chosen.measured else []
    low, high = axes.get_ylim()
    taken: list[tuple[float, float]] = []
    for row in [*chosen, *(row for row in front if row not in chosen)]:
        at = math.log(row.measured[LATENCY]), (material.quality(row).mean - low) / (high - low)
        if any(abs(at[0] - x) < 1.1 and abs(at[1] - y) < 0.06 for x, y in taken):
            continue
        taken.append(at)
        style: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold" if row in chosen else "normal"}
        place = row.measured[LATENCY], material.quality(row).mean
        right = axes.transAxes.inverted().transform(axes.transData.transform(place))[0] > 0.6
        shift = (-9, 7) if right else (9, 7)
        axes.annotate(name(row.name, 32), place, shift, textcoords="offset points", ha="right" if right else "left", **style)


def _stair(front: Sequence[TrialRow], material: Material) -> list[TrialRow]:
    """The trials that score more than every faster one; `front` is in order of latency."""
    sign = 1 if material.maximize or material.per_question else -1
    kept: list[TrialRow] = []
    for row in front:
        if not kept or sign * material.quality(row).mean > sign * material.quality(kept[-1]).mean:
            kept.append(row)
    return kept


def _point(axes: "Axes", row: TrialRow, share: float, material: Material) -> None:
    chosen = row is material.chosen
    colour = COLOURS["accent" if row.front or chosen else "muted"]
    style: dict[str, Any] = {"s": 18 + 160 * share, "edgecolors": colour, "linewidths": 1, "alpha": 0.85}
    axes.scatter(
        [row.measured[LATENCY]], [material.quality(row).mean], facecolors=colour if chosen or row.tied else "none", **style
    )
