"""Risk against coverage, a threshold, and what it does."""

from rag.analysis.abstention import AbstentionStudy, Point
from rag.evaluation.statistics.agreement import Estimate
from rag.reporting.terminal.output import Table, escape, interval, number, out

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Where the curve is shown: it may have as many points as there are questions."""


def abstention_report(found: AbstentionStudy) -> None:
    """Areas, some points of the curve, the threshold, and what it does on each split."""
    out.print(f"[bold]{escape(found.name)}[/bold] ({found.trial_id}); a good answer has {escape(found.correct)} 1")
    if found.unscored:
        out.print(f"[dim]{found.unscored} answers are left out: {escape(found.correct)} says nothing of them[/dim]")
    out.print(_areas(found))
    out.print()
    out.print(_curve(found))
    out.print()
    out.print(_sentence(found))
    out.print(_at(found))


def _areas(found: AbstentionStudy) -> Table:
    table, parts = _table("", *found.parts), found.parts.values()
    table.add_row("questions", *(str(part.questions) for part in parts))
    table.add_row("  without gold", *(str(part.unanswerable) for part in parts))
    table.add_row("  declined by the generator", *(str(part.declined) for part in parts))
    table.add_row("risk of answering all", *(number(part.area.chance) for part in parts))
    table.add_row("area under risk and coverage", *(_shown(part.area.aurc) for part in parts))
    table.add_row("  the least there is", *(number(part.area.best) for part in parts))
    table.add_row("AUC, with gold against without", *(_shown(part.area.auc) for part in parts))
    return table


def _curve(found: AbstentionStudy) -> Table:
    table = _table("coverage", "risk", "answered", "declined", "value", "from similarity")
    for point in _some(found):
        table.add_row(*map(number, (point.coverage, point.risk, point.answered, point.declined, point.value)), _from(point))
    return table


def _some(found: AbstentionStudy) -> list[Point]:
    """The first point of the curve at or above each coverage that is shown, and the chosen one."""
    picked = [next(point for point in found.curve if point.coverage >= least - 1e-9) for least in COVERAGES]
    return sorted({*picked, found.chosen}, key=lambda point: point.coverage)


def _sentence(found: AbstentionStudy) -> str:
    rule = "the greatest value" if found.risk is None else f"the greatest coverage with a risk of at most {found.risk:g}"
    if found.chosen.coverage == 0:
        return f"Chosen on tune for {rule}: [bold]answer nothing[/bold]."
    if found.chosen.threshold == float("-inf"):
        return f"Chosen on tune for {rule}: [bold]answer everything[/bold]; no similarity tells when to decline."
    floor = f"check.retrieval_floor.floor={found.chosen.threshold:.4g}"
    return f"Chosen on tune for {rule}: [bold]{floor}[/bold]"


def _at(found: AbstentionStudy) -> Table:
    table = _table("", *found.held)
    for name in ("coverage", "risk", "answered", "declined", "value", "gain"):
        table.add_row(name, *(_shown(getattr(held, name)) for held in found.held.values()))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(escape(column))
    return table


def _from(point: Point) -> str:
    return {float("inf"): "none", float("-inf"): "any"}.get(point.threshold, number(point.threshold))


def _shown(found: Estimate) -> str:
    low, high = (None if end != end else end for end in (found.low, found.high))
    return interval({"mean": found.value, "low": low, "high": high})
