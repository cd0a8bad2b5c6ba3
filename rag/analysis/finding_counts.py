"""How often checks and guards fired in the answers of a sweep, and right routes against chosen ones."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rag.core.records.queries import ROUTES
from rag.core.types import INPUTS, input_of
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import AnswerParts
from rag.execution.store.store import Store
from rag.execution.sweep.trial_scores import stored_answers

DONE = {"quarantine": "taken out", "abstain": "not asked", "remove": "cut", "refuse": "refused", "regenerate": "asked again"}
"""The consequences of a finding, except for a note to the reader."""


@dataclass(frozen=True)
class Fired:
    """How often one check or guard fired: its `findings`, its `questions`, and its findings by action."""

    findings: int
    questions: int
    actions: Mapping[str, int]


@dataclass(frozen=True)
class Tally:
    """Counts of the answers of one trial: all, declined and failed, and the findings by the name of the check or guard.

    `unasked` counts questions for which a check or guard abstained before the model was asked; they count as declined too.
    `fired` includes checks and guards of the config that never fired, and `failed_route`, if any
    question was left to passages because its route or query of records failed.
    """

    trial_id: str
    name: str
    questions: int
    declined: int
    unasked: int
    failed: int
    fired: Mapping[str, Fired]

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values, without the id of the trial."""
        return {name: value for name, value in asdict(self).items() if name != "trial_id"}

    def metrics(self) -> dict[str, float]:
        """The counts by name, for MLflow: the questions in which each check fired, and the findings by action."""
        counts = {"answers/declined": float(self.declined), "answers/unasked": float(self.unasked)}
        for source, fired in self.fired.items():
            counts[f"found/{source}"] = float(fired.questions)
            counts |= {f"found/{source}/{action}": float(count) for action, count in fired.actions.items()}
        return counts


def count_findings(made: Plan, store: Store) -> list[Tally]:
    """One tally per trial whose answers are in the store, in the order of the plan."""
    return [tally for trial in made.trials if (tally := one_of(trial, made, store))]


def one_of(trial: PlannedTrial, made: Plan, store: Store) -> Tally | None:
    """The tally of one trial, None if it generates nothing or its answers are not in the store."""
    answers = stored_answers(trial, made, store)
    if answers is None:
        return None
    given = [answer for answer in answers if answer]
    chosen = [name for group in ("check", "guard") for name in trial.trial.config.get(group) or {}]
    sources = dict.fromkeys([*chosen, *(finding.source for answer in given for finding in answer.findings)])
    routes = sum(bool(answer.look and answer.look.note) for answer in given)
    return Tally(
        trial.trial_id,
        trial.trial.name,
        len(answers),
        sum(answer.abstained for answer in given),
        sum(any(finding.action == "abstain" for finding in answer.findings) for answer in given),
        len(answers) - len(given),
        {source: _fired(source, given) for source in sources} | ({"failed_route": Fired(routes, routes, {})} if routes else {}),
    )


def _fired(source: str, answers: list[AnswerParts]) -> Fired:
    own = [[finding for finding in answer.findings if finding.source == source] for answer in answers]
    actions = Counter(finding.action for findings in own for finding in findings)
    return Fired(sum(map(len, own)), sum(map(bool, own)), dict(sorted(actions.items())))


def in_words(fired: Fired) -> str:
    """Findings and questions, with the consequences: `12 in 9, 3 refused`."""
    if not fired.findings:
        return "–"
    followed = [f"{count} {DONE[action]}" for action, count in fired.actions.items() if action in DONE]
    return ", ".join([f"{fired.findings} in {fired.questions}", *followed])


def as_table(found: Sequence[Tally]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads behind the name of a trial, and a row per trial; no row without a check or guard."""
    sources = list(dict.fromkeys(source for tally in found for source in tally.fired))
    rows = [
        (
            tally.name,
            f"{tally.declined} of {tally.questions}",
            *(in_words(tally.fired[source]) if source in tally.fired else "" for source in sources),
        )
        for tally in found
    ]
    return ("declined", *sources), rows if sources else []


Matrix = dict[str, dict[str, int]]
"""The number of questions by right value, then by chosen value."""
Choice = Literal["route", "input"]
NAMES: Mapping[Choice, tuple[str, ...]] = {"route": tuple(ROUTES), "input": INPUTS}
"""The values of each choice."""
CHOSEN: Mapping[Choice, Callable[[AnswerParts], str]] = {
    "route": lambda part: part.look.routed.mechanism if part.look else "semantic",
    "input": lambda part: input_of(part.findings),
}


def confusion(trial: PlannedTrial, made: Plan, store: Store, choice: Choice = "route") -> Matrix:
    """The confusion matrix of the questions with a golden route or kind; empty without these, and without answers."""
    answers, counts = stored_answers(trial, made, store), Counter[tuple[str, str]]()
    for example, part in zip(trial.golden.examples, answers or (), strict=answers is not None):
        if part and (right := getattr(example, choice)):
            counts[right, CHOSEN[choice](part)] += 1
    rows = [name for name in NAMES[choice] if any(row == name for row, _ in counts)]
    return {row: {column: counts[row, column] for column in NAMES[choice]} for row in rows}
