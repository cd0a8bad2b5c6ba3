"""Risk against coverage, the chosen threshold, and its effect."""

from rag.analysis.abstention import AbstentionStudy, Point
from rag.reporting.terminal.output import Table, escape, estimate, number, out, table

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Coverages at which the curve is shown; it may have as many points as there are questions."""


def abstention_report(found: AbstentionStudy) -> None:
    """Print the areas, some points of the curve, the threshold, and its effect on each split."""
    out.print(f"[bold]{escape(found.name)}[/bold] ({found.trial_id}); a good answer has {escape(found.correct)} 1")
    if found.unscored:
        out.print(f"[dim]{found.unscored} answers are left out: {escape(found.correct)} has no value for them[/dim]")
    out.print(_areas(found))
    out.print()
    out.print(_curve(found))
    out.print()
    out.print(_sentence(found))
    out.print(_at_threshold(found))


def _areas(found: AbstentionStudy) -> Table:
    parts = found.parts.values()
    shown = table("", *found.parts, words=1 + len(parts))
    shown.add_row("questions", *(str(part.questions) for part in parts))
    shown.add_row("  without gold", *(str(part.unanswerable) for part in parts))
    shown.add_row("  declined by the generator", *(str(part.declined) for part in parts))
    shown.add_row("risk of answering all", *(number(part.area.chance) for part in parts))
    shown.add_row("area under risk and coverage", *(estimate(part.area.aurc) for part in parts))
    shown.add_row("  the least there is", *(number(part.area.best) for part in parts))
    shown.add_row("AUC, with gold against without", *(estimate(part.area.auc) for part in parts))
    return shown


def _curve(found: AbstentionStudy) -> Table:
    shown = table("coverage", "risk", "answered", "declined", "value", "from similarity", words=6)
    for point in _points(found):
        figures = map(number, (point.coverage, point.risk, point.answered, point.declined, point.value))
        infinite = {float("inf"): "none", float("-inf"): "any"}
        shown.add_row(*figures, infinite.get(point.threshold, number(point.threshold)))
    return shown


def _points(found: AbstentionStudy) -> list[Point]:
    """The first point of the curve at or above each coverage that is shown, and the chosen one."""
    picked = [next(point for point in found.curve if point.coverage >= least - 1e-9) for least in COVERAGES]
    return sorted({*picked, found.chosen}, key=lambda point: point.coverage)


def _sentence(found: AbstentionStudy) -> str:
    rule = "the greatest value" if found.risk is None else f"the greatest coverage with a risk of at most {found.risk:g}"
    if found.chosen.coverage == 0:
        return f"Chosen on tune for {rule}: [bold]answer nothing[/bold]."
    if found.chosen.threshold == float("-inf"):
        return f"Chosen on tune for {rule}: [bold]answer everything[/bold]; no similarity separates good answers from bad ones."
    floor = f"check.retrieval_floor.floor={found.chosen.threshold:.4g}"
    return f"Chosen on tune for {rule}: [bold]{floor}[/bold]"


def _at_threshold(found: AbstentionStudy) -> Table:
    shown = table("", *found.held, words=1 + len(found.held))
    for name in ("coverage", "risk", "answered", "declined", "value", "gain"):
        shown.add_row(name, *(estimate(getattr(held, name)) for held in found.held.values()))
    return shown
