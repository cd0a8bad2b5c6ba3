"""The pictures of a report. Every one shows at most so many trials and says so; the tables beside them are complete."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.report.figures import BYTES, COST, LATENCY, difference, interval, number, signed
from rag.report.ink import COLOURS, Chart, drawn, figure_ticks, log_ticks, name
from rag.report.material import Factor, Material, Mean, TrialRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOP, FEW = 30, 12
ROW = 0.27
"""Inches per row of a chart."""


def leaderboard(material: Material) -> Chart | None:
    """Scores with intervals, the tied set shaded, holdout scores beside those they were chosen by."""
    rows = material.done[:TOP]
    if not rows:
        return None

    def draw(axes: "Axes") -> None:
        _rows(axes, rows, material)
        for place, row in enumerate(rows):
            if row.tied:
                axes.axhspan(place - 0.5, place + 0.5, color=COLOURS["soft"], linewidth=0, zorder=0)
            _whisker(axes, place, row.score, "accent" if row is material.chosen else "ink", filled=True)
            if row.holdout:
                _whisker(axes, place + 0.26, row.holdout, "warm", filled=False)
        figure_ticks(axes)
        axes.set_xlabel(material.column)

    held = any(row.holdout for row in rows)
    caption = f"{_of(len(rows), len(material.done))}Mean of {material.column} with its 95 % interval."
    caption += " Shaded: the trials that this data does not tell from the best." if any(row.tied for row in rows) else ""
    caption += " Hollow: the same trial on questions that nothing was chosen by." if held else ""
    text = "; ".join(f"{row.name} {interval(row.score)}{', tied' if row.tied else ''}" for row in rows)
    return drawn("board", f"Leaderboard by {material.column}", text, caption, ROW * len(rows) * 1.12 + 0.75, draw)


def pareto(material: Material) -> Chart | None:
    """Quality against latency, sized by index or cost, with the front drawn through the trials that nothing dominates."""
    rows = [row for row in material.done if row.measured.get(LATENCY, 0) > 0 and not math.isnan(row.score.mean)]
    if len(rows) < 2:
        return None
    by = COST if any(row.measured.get(COST) for row in rows) else BYTES
    most = max((row.measured.get(by, 0.0) for row in rows), default=0.0) or 1.0
    front = sorted((row for row in rows if row.front), key=lambda row: row.measured[LATENCY])
    stair = _stair(front)

    def draw(axes: "Axes") -> None:
        spread = [row.measured[LATENCY] for row in rows]
        log_ticks(axes, min(spread), max(spread))
        axes.grid(visible=True)
        axes.spines["left"].set_visible(True)
        style: dict[str, Any] = {"color": COLOURS["accent"], "linewidth": 1, "drawstyle": "steps-post"}
        axes.plot([r.measured[LATENCY] for r in stair], [r.score.mean for r in stair], **style)
        for row in rows:
            area = 18 + 160 * row.measured.get(by, 0.0) / most
            colour = "accent" if row.front or row is material.chosen else "muted"
            face = COLOURS[colour] if row is material.chosen or row.tied else "none"
            place = [row.measured[LATENCY]], [row.score.mean]
            axes.scatter(*place, s=area, facecolors=face, edgecolors=COLOURS[colour], linewidths=1, alpha=0.85)
        _labels(axes, stair, material)
        _score_axis(axes)
        axes.set_xlabel("latency, 95th percentile in ms (logarithmic)")
        axes.set_ylabel(material.column)

    sized = "cost" if by == COST else "size of the index"
    caption = f"Quality against latency; the area is the {sized}. Filled: the tied set. " + (
        f"Blue: the {len(front)} that no other trial beats in one thing without being worse in another; the line goes up where a "
        "slower one scores more."
        if front
        else ""
    )
    text = "; ".join(f"{row.name}: {number(row.score.mean)} at {number(row.measured[LATENCY], 1)} ms" for row in front[:TOP])
    return drawn("pareto", "Quality against latency", f"On the front: {text or 'not known'}", caption.strip(), 4.6, draw)


def effects(material: Material) -> Chart | None:
    """What each choice does against the reference of its axis, averaged over trials that differ in nothing else."""
    found = (*material.effects, *material.interactions)
    if not found:
        return None
    shown = found[:TOP]

    def draw(axes: "Axes") -> None:
        axes.axvline(0, color=COLOURS["muted"], linewidth=1)
        for place, factor in enumerate(shown):
            sure = factor.p_holm <= 0.05
            colour = "muted" if not sure else "good" if factor.effect.mean > 0 else "bad"
            _whisker(axes, place, factor.effect, colour, filled=sure)
        _ticks(axes, [_factor(factor) for factor in shown], ())
        figure_ticks(axes, sign=True)
        axes.set_xlabel(f"difference in {material.column}")

    caption = f"{_of(len(shown), len(found), 'effects')}Paired difference over matched trials, 95 % interval. "
    caption += "Filled: significant after Holm's correction for all that were looked at."
    text = "; ".join(f"{_factor(factor)} {difference(factor.effect)}" for factor in shown)
    return drawn("effects", "What each choice does", text, caption, ROW * len(shown) + 0.8, draw)


def _factor(factor: Factor) -> str:
    beside = f" with {factor.other}" if factor.other else ""
    return name(f"{factor.axis}: {factor.choice}{beside} vs {factor.reference}", 60)


def blame(material: Material) -> Chart | None:
    """How many questions each trial lost, by the stage that lost them."""
    found = material.blame
    if found is None or not found.trials:
        return None
    order = sorted(range(len(found.trials)), key=lambda at: _place(material, found.trials[at]))[:FEW]
    counts = np.array([found.counts[at] for at in order])
    used = [stage for stage in range(len(found.stages)) if counts[:, stage].any()]

    def draw(axes: "Axes") -> None:
        left = np.zeros(len(order))
        for stage in used:
            colour = COLOURS[f"stage{stage % 9 + 1}"]
            style: dict[str, Any] = {"edgecolor": COLOURS["paper"], "linewidth": 0.8, "label": found.stages[stage]}
            axes.barh(range(len(order)), counts[:, stage], left=left, height=0.72, color=colour, **style)
            left += counts[:, stage]
        for place, total in enumerate(left):
            axes.text(total, place, f" {total:.0f}", va="center", color=COLOURS["muted"])
        chosen = [at for at, place in enumerate(order) if material.chosen and found.trials[place] == material.chosen.trial_id]
        _ticks(axes, [_name(material, found.trials[place]) for place in order], chosen)
        axes.set_xlabel(f"questions of {found.questions} that were not fully solved")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.figure.legend(loc="outside upper left", ncols=3, fontsize=9)

    text = "; ".join(
        f"{_name(material, found.trials[at])}: " + ", ".join(f"{found.counts[at][s]} {found.stages[s]}" for s in used)
        for at in order[:5]
    )
    caption = f"{_of(len(order), len(found.trials))}Questions not fully solved within k, by the first stage that lost evidence."
    return drawn("blame", "Where questions are lost", text, caption, ROW * len(order) * 1.15 + 1.5, draw)


def headroom(material: Material) -> Chart | None:
    """What perfect parts would add to the recommended trial."""
    gains = material.headroom
    if not gains:
        return None

    def draw(axes: "Axes") -> None:
        axes.barh(range(len(gains)), [gain.gain.mean for gain in gains], height=0.5, color=COLOURS["soft"])
        for place, gain in enumerate(gains):
            _whisker(axes, place, gain.gain, "accent", filled=True)
        _ticks(axes, [name(gain.part) for gain in gains], ())
        figure_ticks(axes, sign=True)
        axes.set_xlabel(f"gain in {material.column}")

    text = "; ".join(f"{gain.part} {difference(gain.gain)}" for gain in gains)
    of = f" of {material.chosen.name}" if material.chosen else ""
    caption = f"What {material.column}{of} would gain if one part were perfect and all others stayed as they are."
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
        _rows(axes, rows, material)
        axes.set_xlabel("ms per question, warm, one at a time (logarithmic)")

    text = "; ".join(
        f"{row.name}: median {np.percentile(times, 50):.1f} ms, 95 % {np.percentile(times, 95):.1f} ms"
        for row, times in zip(rows, timed, strict=True)
    )
    many = max(len(times) for times in timed)
    caption = f"{_of(len(rows), len(material.done))}A dot per timed question ({many} each); long bar: median, short bar: 95 %."
    return drawn("latency", "How long a question takes", text, caption, ROW * len(rows) * 1.1 + 0.75, draw)


def _of(shown: int, total: int, noun: str = "trials") -> str:
    return f"The best {shown} of {total} {noun}; the table has all. " if shown < total else ""


def _place(material: Material, trial_id: str) -> int:
    return next((at for at, row in enumerate(material.done) if row.trial_id == trial_id), len(material.done))


def _name(material: Material, trial_id: str) -> str:
    row = material.row(trial_id)
    return name(row.name if row else trial_id)


def _whisker(axes: "Axes", place: float, found: Mean, colour: str, filled: bool) -> None:
    if math.isnan(found.mean):
        return
    tint = COLOURS[colour]
    if not math.isnan(found.low + found.high):
        axes.plot([found.low, found.high], [place, place], color=tint, linewidth=1.3, solid_capstyle="butt")
    axes.plot([found.mean], [place], "o", ms=5.5, mec=tint, mew=1.3, mfc=tint if filled else COLOURS["paper"])


def _rows(axes: "Axes", rows: Sequence[TrialRow], material: Material) -> None:
    _ticks(axes, [name(row.name) for row in rows], [at for at, row in enumerate(rows) if row is material.chosen])


def _ticks(axes: "Axes", names: Sequence[str], chosen: Sequence[int]) -> None:
    """One row per name, the first on top; chosen ones in bold."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=True, axis="x")
    for at in chosen:
        label = axes.get_yticklabels()[at]
        label.set_fontweight("bold")
        label.set_color(COLOURS["accent"])


def _labels(axes: "Axes", front: Sequence[TrialRow], material: Material) -> None:
    """Name the trials of the front and the recommended one, as far as names do not lie over each other."""
    chosen = [material.chosen] if material.chosen and LATENCY in material.chosen.measured else []
    low, high = axes.get_ylim()
    taken: list[tuple[float, float]] = []
    for row in [*chosen, *(row for row in front if row not in chosen)]:
        at = math.log(row.measured[LATENCY]), (row.score.mean - low) / (high - low)
        if any(abs(at[0] - x) < 1.1 and abs(at[1] - y) < 0.06 for x, y in taken):
            continue
        taken.append(at)
        style: dict[str, Any] = {"fontsize": 8.5, "fontweight": "bold" if row in chosen else "normal"}
        right = axes.transAxes.inverted().transform(axes.transData.transform((row.measured[LATENCY], row.score.mean)))[0] > 0.6
        place, shift = (row.measured[LATENCY], row.score.mean), (-9, 7) if right else (9, 7)
        axes.annotate(name(row.name, 32), place, shift, textcoords="offset points", ha="right" if right else "left", **style)


def _stair(front: Sequence[TrialRow]) -> list[TrialRow]:
    """Of trials by latency, those that score more than every faster one."""
    kept: list[TrialRow] = []
    for row in front:
        if not kept or row.score.mean > kept[-1].score.mean:
            kept.append(row)
    return kept


def _score_axis(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter

    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 2)))


__all__ = ["TOP", "blame", "effects", "headroom", "latency", "leaderboard", "pareto", "signed"]
