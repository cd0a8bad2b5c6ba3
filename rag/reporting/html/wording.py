"""The sentences of a report: the recommendation, its uncertainty, its cost. Page and Markdown share them."""

from dataclasses import dataclass

from rag.core.figures import amount, with_interval
from rag.execution.graph.engine import cause_of
from rag.pipeline.search.unread_text import remark, share
from rag.reporting.html.view_model import Material, TrialRow
from rag.reporting.number_format import costs, seconds
from rag.reporting.terminal.output import ask_command

MISSING = {
    "leaderboard": "No trial has scores.",
    "pareto": "Two trials with a measured latency are needed: set latency=16 and sweep again.",
    "effects": "Effects of choices are known where an experiment has axes with several choices each.",
    "heat": "The questions have no kinds, tags or lengths to slice by.",
    "blame": "No trial lost a question that has something to find.",
    "headroom": "What perfect parts would add is not known for this trial.",
    "found": "No check or guard looked at an answer.",
    "controls": "No control was swept: closed book, shuffled and gold contexts are of use where answers are generated.",
    "judges": "No judge read answers: metrics such as faithfulness ask one.",
    "inputs": "No golden message with a kind was answered.",
    "routes": "No golden question with a route was answered.",
    "latency": "Latency was not measured: latency=16 times sixteen questions of every trial.",
    "what_if": "The trial has no searches in the store that a page could score again.",
    "explorer": "No trial has rankings in the store.",
}
"""Why a section may be empty, if nothing more exact is known."""


@dataclass(frozen=True)
class Headline:
    """The first lines. `lead` comes before the trial's name, `why` after it."""

    lead: str
    name: str
    trial_id: str
    why: str
    sure: tuple[str, ...]
    cost: str
    command: str


def headline(material: Material) -> Headline:
    """The recommendation with its reasons, uncertainty, cost and next command."""
    row = material.chosen
    if row is None:
        sure = (f"None of {amount(len(material.trials), 'trial')} has scores to choose by.",)
        return Headline("There is nothing to recommend.", "", "", "", sure, "", f"rag sweep {material.experiment}")
    verdict = material.verdict
    lead = "First by its mean:" if verdict is None else "Take" if verdict.enough else "First so far:"
    lead = f"{verdict.contradiction if verdict else ''} {lead}".strip()
    why = f"{verdict.why[0].upper()}{verdict.why[1:].rstrip('.')}." if verdict and verdict.why else ""
    spent = costs(row, material.data.questions)
    cost = f"It takes {_listed(spent)}." if spent else "What it costs was not measured."
    return Headline(lead, row.name, row.trial_id, why, _sure(material, row), cost, _ask(material, row))


def _ask(material: Material, row: TrialRow) -> str:
    """A command that can be typed as it is: it asks the trial a golden question, if the report shows any."""
    questions = material.explorer.questions if material.explorer else ()
    text = next((each.query.text for each in questions if each.ranked and not each.query.history), "")
    return ask_command(text, row.trial_id) if text else f"rag ask --chat trial={row.trial_id}"


def _sure(material: Material, row: TrialRow) -> tuple[str, ...]:
    asked = amount(row.score.n or material.data.questions, "question")
    named = "The objective" if material.column == "objective" else material.column
    sentences = [f"{named} is {with_interval(row.score, material.digits)} on the {asked} that the trials were compared on."]
    verdict = material.verdict
    if verdict is None:
        reason = material.missing.get("verdict", "")
        return (
            *sentences,
            f"This order is not a verdict: the first of {len(material.done)} is in part lucky. {reason}".strip(),
        )
    others = len([trial_id for trial_id in verdict.tied if trial_id != row.trial_id])
    if row.trial_id not in verdict.tied and not verdict.contradiction:
        best = material.row(verdict.best)
        sentences.append(f"{best.name if best else verdict.best} is shown to be better.")
    elif others:
        sentences.append(f"It is tied with {amount(others, 'other trial')}, shaded below.")
    elif verdict.family and verdict.enough and not verdict.contradiction and len(material.done) > 1:
        sentences.append("Every other trial is significantly worse.")
    sentences.append(verdict.expectation(material.column))
    if row.holdout:
        held, uses = amount(material.held, "question"), amount(verdict.uses, "use")
        sentences.append(f"On the holdout ({held}, {uses} so far), it is {with_interval(row.holdout, material.digits)}.")
    sentences.append(material.missing.get("holdout", ""))
    if row.broken:
        sentences.append("It breaks a bound of the objective.")
    cut = remark({trial.name: share(trial.measured) for trial in material.done}, row.name)
    return tuple(filter(None, (*sentences, cut)))


def missing(material: Material, section: str) -> str:
    """Why a section of the report is empty."""
    return material.missing.get(section, MISSING[section])


def reuse(material: Material) -> str:
    """`288 trials, 41 stages, 92 % reused`."""
    found = material.reuse
    spent = f"; {seconds(found.seconds)} of work in the store" if found.seconds else ""
    return f"{amount(found.trials, 'trial')}, {amount(found.distinct, 'stage')}, {100 * found.share:.0f} % reused{spent}"


def losses(material: Material) -> str:
    """The stages where the recommended trial loses most, in a sentence; empty if unknown."""
    row = material.chosen
    if row is None or row.trial_id not in material.blame:
        return ""
    counts = material.blame[row.trial_id]
    ranked = sorted(((count, stage) for stage, count in counts.items() if count), reverse=True)
    if not ranked:
        return f"{row.name} solves every question that has something to find."
    named = _listed([f"{count} {stage}" for count, stage in ranked[:3]])
    return f"{row.name} does not fully solve {sum(counts.values())} of {material.data.answerable} questions: {named}."


def failures(material: Material) -> tuple[str, ...]:
    """Trials without scores, one sentence each, and a sentence on trials with other questions."""
    lines = [material.missing["elsewhere"]] if "elsewhere" in material.missing else []
    for row in material.trials:
        if row.status != "done":
            why = f": {cause_of(row.error)}" if row.error.strip() else ""
            lines.append(f"{row.name} ({row.trial_id}) {'has not run' if row.status == 'not run' else row.status}{why}")
    return tuple(lines)


def _listed(parts: list[str]) -> str:
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1]
