"""What checks and guards found in the answers of a sweep: how often each fired, and what followed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import AnswerParts, answer_parts
from rag.execution.store.store import Store

DONE = {
    "quarantine": "taken out",
    "abstain": "not asked",
    "remove": "cut",
    "refuse": "refused",
    "regenerate": "asked again",
}
"""What followed from a finding, but for telling the reader."""


@dataclass(frozen=True)
class Fired:
    """How often one check or guard fired: `findings` in all, in how many `questions`, and by what each asked for."""

    findings: int
    questions: int
    actions: Mapping[str, int]


@dataclass(frozen=True)
class Tally:
    """The answers of one trial: how many there are, were declined, failed, and what was found, by the name of who found it.

    `unasked` counts questions for which a check or guard abstained before the model was asked; they are declined, too. Checks
    and guards of the config stand here even if they never fired.
    """

    trial_id: str
    name: str
    questions: int
    declined: int
    unasked: int
    failed: int
    fired: Mapping[str, Fired]

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON values."""
        fired = {
            source: {"findings": one.findings, "questions": one.questions, "actions": dict(one.actions)}
            for source, one in self.fired.items()
        }
        names = ("questions", "declined", "unasked", "failed")
        return {"name": self.name, **{name: getattr(self, name) for name in names}, "fired": fired}

    def metrics(self) -> dict[str, float]:
        """The tally as numbers by name, for MLflow: the questions in which each fired, and how often each action followed."""
        found = {"answers/declined": float(self.declined), "answers/unasked": float(self.unasked)}
        for source, one in self.fired.items():
            found[f"found/{source}"] = float(one.questions)
            found |= {f"found/{source}/{action}": float(count) for action, count in one.actions.items()}
        return found


def count_findings(made: Plan, store: Store) -> list[Tally]:
    """One tally per trial whose answers are in the store, in the order of the plan."""
    return [found for trial in made.trials if (found := one_of(trial, made, store))]


def one_of(trial: PlannedTrial, made: Plan, store: Store) -> Tally | None:
    """The tally of one trial, None where it generates nothing or its answers are not in the store."""
    meta = store.read_meta(made.stages[trial.ends.check].entry) if trial.ends.check else None
    return None if meta is None else _tally(trial, answer_parts(meta))


def _tally(trial: PlannedTrial, answers: list[AnswerParts | None]) -> Tally:
    given = [answer for answer in answers if answer]
    chosen = [name for group in ("check", "guard") for name in trial.trial.config.get(group) or {}]
    sources = dict.fromkeys([*chosen, *(one.source for answer in given for one in answer.findings)])
    return Tally(
        trial.trial_id,
        trial.trial.name,
        len(answers),
        sum(answer.abstained for answer in given),
        sum(any(one.action == "abstain" for one in answer.findings) for answer in given),
        len(answers) - len(given),
        {source: _fired(source, given) for source in sources},
    )


def _fired(source: str, answers: list[AnswerParts]) -> Fired:
    own = [[one for one in answer.findings if one.source == source] for answer in answers]
    actions = Counter(one.action for findings in own for one in findings)
    return Fired(sum(map(len, own)), sum(map(bool, own)), dict(sorted(actions.items())))


def in_words(one: Fired) -> str:
    """`12 in 9`, and what followed: `12 in 9, 3 refused`."""
    if not one.findings:
        return "–"
    followed = [f"{count} {DONE[action]}" for action, count in one.actions.items() if action in DONE]
    return ", ".join([f"{one.findings} in {one.questions}", *followed])
