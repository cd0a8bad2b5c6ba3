"""A few questions before a sweep that costs money, so that a model that answers nothing is seen first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rag.config.identity import digest
from rag.core.errors import UserError
from rag.execution.graph import cost_estimate, plan
from rag.execution.graph.engine import cause_of
from rag.execution.graph.executors import Ran, Watch, run_watched
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import answer_parts
from rag.execution.sweep.sweep import Prepared

QUESTIONS = 5
DECIDING = ("generator", "prompt", "guard", "check")
"""Roles whose choices matter before a sweep: of trials with the same choices, the first is asked."""


def check(ready: Prepared, watch: Watch, tell: Callable[[str], Any], proceed: bool) -> None:
    """Ask a sample of the questions before a sweep that pays for answers; the sweep reuses the replies.

    `tell` gets a sentence for each generator and prompt. UserError, unless the sweep is to `proceed` in any case, if one of
    them answers no question that has an answer. KeyboardInterrupt and StoreError pass through.
    """
    made = ready.plan
    chosen = {digest(*(one.trial.config[role] for role in DECIDING)): one for one in reversed(made.trials) if _pays(one, made)}
    if not chosen:
        return
    configs = [(one.trial, {**one.trial.config, "latency": 0, "sample": QUESTIONS}) for one in reversed(chosen.values())]
    trials = [replace(trial, config=config) for trial, config in configs]
    small = plan.assemble(made.experiment, trials, ready.store, made.ledger, made.corpora)
    ends = [one.ends.check for one in small.trials if one.ends.check]
    small = replace(small, to_run=tuple(plan.missing(small.graph, ends, ready.store)))
    ran = run_watched(small, ready.store, ready.settings, watch)
    ran.checked()
    empty = []
    for one in small.trials:
        said, first, answers = _seen(one, small, ready, ran)
        tell(f"{one.trial.name}, {QUESTIONS} questions before the sweep: {said}.")
        empty += [] if answers else [f"no question of {one.trial.name} was answered: {first}"]
    if empty and not proceed and not ran.exhausted:
        what = f"has not begun, because {empty[0]}"
        raise UserError("sweep", what, "change the prompt, the checks or the model, or sweep in any case with --yes")


def _pays(trial: PlannedTrial, made: Plan) -> bool:
    """Whether a trial has answers to ask for that a price, or a server elsewhere, makes costly."""
    ends, waiting, config = trial.ends, set(made.to_run), trial.trial.config
    if not {ends.generate, ends.check} & waiting or made.ledger.terms.replay == "only" or config.get("history") == "live":
        return False
    asked = cost_estimate.spenders(made.graph.components.without_inner, config["generator"], "generator")
    return len(trial.golden.examples) > QUESTIONS and any(each.spending(1, 1, None)[1] != 0 for each in asked)


def _seen(trial: PlannedTrial, made: Plan, ready: Prepared, ran: Ran) -> tuple[str, str, bool]:
    """What came of the questions of a trial, the first reply or error, and whether a question with gold was answered."""
    meta = ready.store.read_meta(made.stages[str(trial.ends.check)].entry)
    if meta is None:
        error = next((outcome.error for outcome in ran.outcomes.values() if outcome.status == "failed"), "not asked")
        return "failed", cause_of(error), False
    parts, examples = answer_parts(meta), trial.golden.examples
    declined = sum(bool(part and part.abstained) for part in parts)
    counts = {"declined": declined, "failed": parts.count(None)}
    said = [f"{count} of {len(parts)} {what}" for what, count in counts.items() if count]
    replies = [part.reply.text for part in parts if part] + [reply["failure"] for reply in meta.get("failures", {}).values()]
    asked = [part for part, example in zip(parts, examples, strict=True) if example.has_gold] or parts
    return (
        " and ".join(said) or "all answered",
        " ".join(str(replies[0]).split())[:200],
        any(part and not part.abstained for part in asked),
    )
