"""The judges of a sweep and their agreement with human labels, as a report shows them."""

from collections.abc import Iterator

from rag.core.figures import figure, with_interval
from rag.evaluation.statistics.agreement import Difference
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges.calibration import Card
from rag.execution.judges.judge_report import SHOWN, Assessor, asking, assessors
from rag.execution.store.store import Store
from rag.execution.sweep import ablations
from rag.reporting.html.view_model import Listing

COLUMNS = ("not judged", "labels", "AUC", "against word overlap", "against length", "kappa", "sensitivity", "specificity")


def judges(made: Plan, store: Store, recommended: PlannedTrial) -> Listing | None:
    """A line per judge and set of labels that it was measured on, with remarks in the sentence; None without a judge."""
    found = [*assessors(made, store), *asking(made, store)]
    if (ahead := ablations.planned(recommended, made, store)) and not ahead.to_run:
        known = {judge.identity for judge in found}
        found += [judge for judge in (*assessors(ahead, store), *asking(ahead, store)) if judge.identity not in known]
    if not found:
        return None
    remarks = [f"{remark}." for judge in found for remark in judge.remarks]
    counts = " ".join(f"{judge.name} filled {', '.join(judge.columns)}: {judge.asked:,} judgements." for judge in found)
    people = [f"{mean.sentence}." for judge in found for mean in judge.corrected[:SHOWN]]
    lines = tuple(line for judge in found for line in _lines(judge))
    return Listing(COLUMNS, lines, " ".join([counts, *remarks, *people]))


def _lines(judge: Assessor) -> Iterator[tuple[str, ...]]:
    lost = f"{judge.failed:,} of {judge.asked:,}"
    if not judge.cards:
        yield judge.name, lost, "none", *["–"] * (len(COLUMNS) - 2)
    for card in judge.cards:
        yield judge.name, lost, *_figures(card)


def _figures(card: Card) -> tuple[str, ...]:
    kinds = ", ".join(card.kinds) or "kind unknown"
    how = f"{card.title} ({kinds}), {card.texts} texts" + (", weights of other labels" if card.held_out else "")
    baselines = (_apart(card.over_overlap), _apart(card.over_length))
    return how, with_interval(card.auc), *baselines, *map(with_interval, (card.kappa, card.sensitivity, card.specificity))


def _apart(over: Difference) -> str:
    return f"{with_interval(over, signed=True)}, p {figure(over.p, 2 if over.p >= 0.01 else 4)}"
