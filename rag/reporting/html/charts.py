"""The pictures of a report. A caption says if a picture shows only the best trials; the tables are complete."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.core.figures import with_interval
from rag.evaluation.statistics.effects import Effect, Interaction
from rag.reporting.html.svg import (
    COLOURS,
    ROW,
    TOP,
    Chart,
    drawn,
    figure_ticks,
    log_ticks,
    name,
    rows_of_trials,
    shown_of_total,
    ticks,
    whisker,
)
from rag.reporting.html.view_model import Material

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 12
"""Trials in the detailed pictures, at most."""


def leaderboard(material: Material) -> Chart | None:
    """Scores with intervals, the tied trials shaded, holdout scores next to those on tune."""
    rows = material.done[:TOP]
    if not rows:
        return None

    def draw(axes: "Axes") -> None:
        rows_of_trials(axes, rows, material)
        for place, row in enumerate(rows):
            if row.tied:
                axes.axhspan(place - 0.5, place + 0.5, color=COLOURS["soft"], linewidth=0, zorder=0)
            colour = "accent" if row is material.chosen else "muted" if row.broken else "ink"
            whisker(axes, place, row.score, colour, filled=not row.broken)
            if row.holdout:
                whisker(axes, place + 0.26, row.holdout, "warm", filled=False)
        figure_ticks(axes.xaxis)
        axes.set_xlabel(material.column)

    held = any(row.holdout for row in rows)
    by_trial = f"{material.column}, which is measured by the trial and not by the question: it has no interval here"
    mean = by_trial if material.per_question else f"Mean of {material.column} with its 95 % interval"
    caption = f"{shown_of_total(len(rows), len(material.done))}{mean}."
    caption += " Shaded: the trials that are not shown to be worse than the best." if any(row.tied for row in rows) else ""
    caption += " Hollow: the same trial on questions that nothing was chosen by." if held else ""
    caption += " Grey: breaks a bound of the objective." if any(row.broken for row in rows) else ""
    text = "; ".join(f"{row.name} {with_interval(row.score)}{', tied' if row.tied else ''}" for row in rows)
    return drawn("board", f"Leaderboard by {material.column}", text, caption, ROW * len(rows) * 1.12 + 0.75, draw)


def effects(material: Material) -> Chart | None:
    """The effect of each choice against the reference of its axis, averaged over trials that differ in nothing else."""
    found: Sequence[Effect | Interaction] = (*material.effects, *material.interactions)
    if not found:
        return None
    shown = found[:TOP]

    def draw(axes: "Axes") -> None:
        axes.axvline(0, color=COLOURS["muted"], linewidth=1)
        for place, factor in enumerate(shown):
            sure = factor.p_adjusted <= 0.05
            colour = "muted" if not sure else "good" if factor.mean > 0 else "bad"
            whisker(axes, place, factor, colour, filled=sure)
        ticks(axes, [_factor(factor) for factor in shown], ())
        figure_ticks(axes.xaxis, sign=True)
        axes.set_xlabel(f"difference in {material.measure}")

    caption = f"{shown_of_total(len(shown), len(found), 'effects')}Paired difference over matched trials, 95 % interval. "
    caption += "Filled: significant, corrected for all that were looked at."
    text = "; ".join(f"{_factor(factor)} {with_interval(factor, signed=True)}" for factor in shown)
    return drawn("effects", "What each choice does", text, caption, ROW * len(shown) + 0.8, draw)


def _factor(factor: Effect | Interaction) -> str:
    return name(f"{factor.name} vs {factor.reference}", 60)


def blame(material: Material) -> Chart | None:
    """Lost questions of each trial, by the stage that lost them."""
    found = material.blame
    if not found:
        return None
    places = {row.trial_id: place for place, row in enumerate(material.done)}
    order = sorted(found, key=lambda trial_id: places.get(trial_id, len(places)))[:FEW]
    counts = np.array([list(found[trial_id].values()) for trial_id in order])
    used = [(number, stage) for number, stage in enumerate(found[order[0]]) if counts[:, number].any()]

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        left = np.zeros(len(order))
        for number, stage in used:
            colour = COLOURS[f"stage{number % 9 + 1}"]
            style: dict[str, Any] = {"edgecolor": COLOURS["paper"], "linewidth": 0.8, "label": stage}
            axes.barh(range(len(order)), counts[:, number], left=left, height=0.72, color=colour, **style)
            left += counts[:, number]
        for place, total in enumerate(left):
            axes.text(total, place, f" {total:.0f}", va="center", color=COLOURS["muted"])
        chosen = [at for at, trial_id in enumerate(order) if material.chosen and trial_id == material.chosen.trial_id]
        ticks(axes, [_name(material, trial_id) for trial_id in order], chosen)
        axes.set_xlabel(f"questions of {material.data.answerable} that were not fully solved")
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axes.figure.legend(loc="outside upper left", ncols=3, fontsize=9)

    text = "; ".join(
        f"{_name(material, trial_id)}: " + ", ".join(f"{found[trial_id][stage]} {stage}" for _, stage in used)
        for trial_id in order[:5]
    )
    part = shown_of_total(len(order), len(found))
    caption = f"{part}Questions not fully solved within k, by the first stage that lost evidence."
    return drawn("blame", "Where questions are lost", text, caption, ROW * len(order) * 1.15 + 1.5, draw)


def headroom(material: Material) -> Chart | None:
    """The gain of the recommended trial from each perfect part."""
    gains = material.headroom
    if not gains:
        return None

    def draw(axes: "Axes") -> None:
        axes.barh(range(len(gains)), [gain.mean for gain in gains], height=0.5, color=COLOURS["soft"])
        for place, gain in enumerate(gains):
            whisker(axes, place, gain, "accent", filled=True)
        ticks(axes, [name(gain.part) for gain in gains], ())
        figure_ticks(axes.xaxis, sign=True)
        axes.set_xlabel(f"gain in {material.measure}")

    text = "; ".join(f"{gain.part} {with_interval(gain, signed=True)}" for gain in gains)
    of = f" of {material.chosen.name}" if material.chosen else ""
    caption = f"What {material.measure}{of} would gain if one part were perfect and all others stayed as they are."
    return drawn("headroom", "What is left on the table", text, caption, 0.42 * len(gains) + 0.75, draw)


def latency(material: Material) -> Chart | None:
    """Every timed question of the best trials, with median and 95th percentile."""
    rows = [row for row in material.done if material.latency.get(row.trial_id)][:FEW]
    if not rows:
        return None
    timed = [np.array(material.latency[row.trial_id]) for row in rows]

    def draw(axes: "Axes") -> None:
        positive = [max(float(times.min()), 0.01) for times in timed]
        log_ticks(axes, min(positive), max(float(times.max()) for times in timed))
        for place, times in enumerate(timed):
            axes.plot(times, np.full(len(times), place), "o", ms=4, color=COLOURS["muted"], alpha=0.45, mew=0)
            for share, height in ((50, 0.34), (95, 0.22)):
                at = float(np.percentile(times, share))
                axes.plot([at, at], [place - height, place + height], color=COLOURS["accent"], linewidth=2)
        rows_of_trials(axes, rows, material)
        axes.set_xlabel("ms per question, warm, one at a time (logarithmic)")

    text = "; ".join(
        f"{row.name}: median {np.percentile(times, 50):.1f} ms, 95 % {np.percentile(times, 95):.1f} ms"
        for row, times in zip(rows, timed, strict=True)
    )
    many = max(len(times) for times in timed)
    part = shown_of_total(len(rows), len(material.done))
    caption = f"{part}A dot per timed question ({many} each); long bar: median, short bar: 95 %."
    return drawn("latency", "How long a question takes", text, caption, ROW * len(rows) * 1.1 + 0.75, draw)


def _name(material: Material, trial_id: str) -> str:
    row = material.row(trial_id)
    return name(row.name if row else trial_id)
