"""How far the judges of a sweep can be trusted, as a report shows it."""

from collections.abc import Iterator

from rag.evaluation.statistics.agreement import Difference, Estimate
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.judges.calibration import Card
from rag.execution.judges.judge_agreement import Concordance, concordances
from rag.execution.judges.judge_report import SHOWN, Assessor, asking, assessors
from rag.execution.store.store import Store
from rag.execution.sweep import ablations
from rag.reporting.html.number_format import amount, difference, interval, number
from rag.reporting.html.view_model import Line, Listing, Mean

COLUMNS = ("not judged", "labels", "AUC", "beside word overlap", "beside length", "kappa", "sensitivity", "specificity")

UNJUDGED = "No judge read answers: metrics such as faithfulness ask one."
"""What is said where there is nothing to show."""


def judges(made: Plan, store: Store, recommended: PlannedTrial) -> Listing | None:
    """A line per judge and set of labels that it was measured on; the sentence says what there is to remark."""
    found = [*assessors(made, store), *asking(made, store)]
    if (ahead := ablations.planned(recommended, made, store)) and not ahead.to_run:
        known = {judge.identity for judge in found}
        found += [judge for judge in (*assessors(ahead, store), *asking(ahead, store)) if judge.identity not in known]
    if not found:
        return None
    remarks = [f"{remark}." for judge in found for remark in judge.remarks]
    told = " ".join(f"{judge.name} filled {', '.join(judge.columns)}: {judge.asked:,} judgements." for judge in found)
    people = [f"{one.sentence}." for judge in found for one in judge.corrected[:SHOWN]]
    agreed = [_agreed(one) for one in concordances(made, store)]
    lines = tuple(line for judge in found for line in _lines(judge))
    return Listing(COLUMNS, lines, " ".join([told, *remarks, *people, *agreed]))


def _agreed(one: Concordance) -> str:
    figures = (("Spearman", one.spearman), ("Kendall", one.kendall), ("kappa", one.kappa))
    told = ", ".join(f"{name} {_value(value)}" for name, value in figures)
    return f"{one.first} and {one.second} agree on the faithfulness of {amount(one.answers, 'answer')} by {told}."


def _lines(judge: Assessor) -> Iterator[Line]:
    lost = f"{judge.failed:,} of {judge.asked:,}"
    if not judge.cards:
        yield Line(judge.name, (lost, "none", *["–"] * (len(COLUMNS) - 2)))
    for card in judge.cards:
        yield Line(judge.name, (lost, *_figures(card)))


def _figures(card: Card) -> tuple[str, ...]:
    kinds = ", ".join(card.kinds) or "kind unknown"
    how = f"{card.data} ({kinds}), {card.texts} texts" + (", weights of other labels" if card.held_out else "")
    beside = (_apart(card.over_overlap), _apart(card.over_length))
    return how, _value(card.auc), *beside, *(_value(one) for one in (card.kappa, card.sensitivity, card.specificity))


def _value(found: Estimate) -> str:
    return interval(Mean(found.value, found.low, found.high))


def _apart(over: Difference) -> str:
    return f"{difference(Mean(over.value, over.low, over.high))}, p {number(over.p, 2 if over.p >= 0.01 else 4)}"
