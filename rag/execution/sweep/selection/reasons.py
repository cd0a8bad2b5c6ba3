"""Sentences on the reason of a recommendation."""

import math

from rag.core.figures import figure, with_interval
from rag.execution.sweep.selection.decision import CLUSTERS, QUESTIONS, Decision
from rag.execution.sweep.selection.race import Race
from rag.execution.sweep.selection.winner import Entrant, Mean

KINDS = {"cost": ("cheapest", "cheaper"), "latency": ("fastest", "faster"), "size": ("smallest", "smaller")}
MOST_QUESTIONS = 100_000
"""A larger number of questions is not printed: too many to ask in practice."""


def why(contest: Race, decision: Decision) -> str:
    """Why a trial is recommended, and what the questions do not decide."""
    few = "" if decision.enough else f" {_too_few(contest, decision)}"
    if len(contest.entrants) == 1:
        return f"It is the only trial that can be chosen.{few}"
    behind = contest.behind(decision.taken.trial_id)
    if behind is None:
        return f"It is first by what was measured; how sure that is cannot be tested, for it is not a score of questions.{few}"
    if not decision.shares:
        return f"{_untested(decision)}.{few}"
    if decision.rule.prices:
        return _priced(decision, behind)
    if decision.taken is not decision.best:
        return _cheaper(decision, behind)
    return f"{_best(contest, decision)} {_others(decision)}".strip()


def _too_few(contest: Race, decision: Decision) -> str:
    """What so few questions leave open, and how many would settle it."""
    asked, clusters = decision.sample
    said = f"How it does on other questions cannot be known from {asked} questions"
    said += f" in {clusters} clusters" if clusters < asked else ""
    if clusters < 2:
        said = "Its questions are one cluster, so that nothing can be told apart"
    columns = [(each.name, column) for each in contest.entrants if (column := contest.column.get(each.trial_id)) is not None]
    least = f"{QUESTIONS} questions in {CLUSTERS} clusters are the least"
    if columns and contest.differences and decision.taken is decision.best:
        (name, column), number = columns[0], float(contest.differences.needed[columns[0][1]])
        if number > max(asked, QUESTIONS):
            least += f", and {many(number)} would tell it from {name} if their difference stays"
    return f"{said}: {least}."


def _untested(decision: Decision) -> str:
    if decision.taken is decision.best:
        return "It is the best by mean"
    if decision.saving in KINDS:
        those = "within the margin" if decision.allowed else "with the best mean"
        return f"It is the {KINDS[decision.saving][0]} of those {those}"
    return "It is worth most at the given prices"


def _best(contest: Race, decision: Decision) -> str:
    others, tied = len(contest.entrants) - 1, len(contest.tied) - 1
    if not tied:
        name, by = "", ""
        if contest.nearest:
            next_best, behind = contest.nearest
            name, by = next_best.name, f"by {with_interval(Mean(-behind.mean, -behind.high, -behind.low))}"
        rest = f"the other {others} are shown to be worse, the next, {name}," if others > 1 else f"{name} is shown to be worse"
        return f"It is the best by mean; {rest} {by}."
    likely = f"P(best) {figure(decision.shares[decision.best.trial_id], digits=2)}"
    number = "the other is" if others == 1 else f"{tied} of the other {others} {'is' if tied == 1 else 'are'}"
    return f"It is the best by mean ({likely}); {number} not shown to be worse."


def _others(decision: Decision) -> str:
    """What a cheaper trial could save, if there is one."""
    cheaper, margin = decision.unsettled, figure(decision.rule.margin)
    if not decision.rule.margin:
        return ""
    if cheaper is None:
        return "No other trial saves anything that was measured."
    comparative, name = KINDS[cheaper.saving][1], cheaper.entrant.name
    scales = _scales(cheaper.entrant, decision.best, cheaper.saving)
    if not math.isfinite(cheaper.needed):
        nearest = f"{name} ({scales}) is nearest, at {figure(cheaper.behind)}"
        return f"No trial that is {comparative} is within {margin} of it: {nearest}."
    open_question = f"{many(cheaper.needed)} questions would say whether by more than {margin}"
    return f"{name} is {comparative} ({scales}) and may be worse by up to {figure(-cheaper.lowest)}: {open_question}."


def many(questions: float) -> str:
    """A number of questions, with two digits."""
    if questions > MOST_QUESTIONS:
        return f"more than {MOST_QUESTIONS:,}"
    return f"about {round(questions, 1 - math.floor(math.log10(questions))):,.0f}"


def _cheaper(decision: Decision, behind: Mean) -> str:
    superlative = KINDS[decision.saving][0]
    scales = _scales(decision.taken, decision.best, decision.saving)
    if not decision.allowed:
        equal = f"its mean is that of the best, and it is the {superlative} of those ({scales})"
        return f"By these questions {equal}; it may be worse by up to {figure(-decision.lowest)}."
    margin = figure(decision.rule.margin)
    kind = KINDS[decision.saving][1] if decision.among == 1 else f"the {superlative} of {decision.among}"
    return (
        f"It is {kind} ({scales}) and shown not to be worse than the best by more than {margin}: "
        f"{figure(behind.mean, signed=True)} against the best by mean, {figure(decision.lowest)} at worst."
    )


def _priced(decision: Decision, behind: Mean) -> str:
    rates = " and ".join(price.text for price in decision.rule.prices)
    if not decision.worth:
        return f"It is the best by mean; what {rates} needs was not measured of any trial."
    if decision.taken is decision.best:
        return f"It is the best by mean, and worth most at {rates}."
    worth, other = (decision.worth[each.trial_id] for each in (decision.taken, decision.best))
    gain = f"{figure(worth)} against {figure(other)} of the best by mean" if other == other else figure(worth)
    return f"It is worth most at {rates}, {gain}; in quality it is {with_interval(behind, signed=True)} against that."


def _scales(one: Entrant, other: Entrant, saving: str) -> str:
    if saving == "cost":
        return f"{one.cost:.4f} US dollars against {other.cost:.4f} US dollars"
    if saving == "latency":
        return f"p95 {one.latency:.1f} ms against {other.latency:.1f} ms"
    return f"{_size(one)} of indexes against {_size(other)}"


def _size(one: Entrant) -> str:
    return f"{one.size / 1e6:,.2f} MB" if one.size >= 1e6 else f"{one.size / 1e3:,.1f} kB"
