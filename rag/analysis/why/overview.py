"""All lost questions of a trial by stage, and its headroom."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis import blame, headroom
from rag.analysis.blame import Lost
from rag.analysis.headroom import Headroom
from rag.analysis.routes import Matrix, confusion
from rag.analysis.why.reopened_trial import ReopenedTrial
from rag.core.errors import ConfigError
from rag.evaluation.scoring import parse_column
from rag.execution.graph.plan import PlannedTrial
from rag.execution.sweep.objective import USUAL

ANSWERS = "token_f1"
"""The preferred answer metric for the headroom."""


@dataclass(frozen=True)
class Overview:
    """The lost questions of a trial, by id and counted by stage, and its headroom by column; `answerable` questions have gold.

    `named` is the name of the trial on the command line, `routes` the right and the chosen routes, `inputs` the kinds of
    messages.
    """

    trial_id: str
    name: str
    named: str
    questions: int
    answerable: int
    counts: Mapping[str, int]
    lost: Mapping[str, Lost]
    headroom: Mapping[str, Sequence[Headroom]]
    routes: Matrix
    inputs: Matrix


@dataclass(frozen=True)
class Overviews:
    """One or two trials over the same questions; `texts` has the text of every question that one of them lost."""

    texts: Mapping[str, str]
    trials: Sequence[Overview]

    def to_json(self) -> dict[str, Any]:
        """What `rag study why --json` prints without a question."""
        trials = [
            {"trial": each.trial_id, "name": each.name, "questions": each.questions, "answerable": each.answerable}
            | {"counts": dict(each.counts), "lost": [asdict(lost) for lost in each.lost.values()]}
            | {"headroom": {column: [part.to_json() for part in parts] for column, parts in each.headroom.items()}}
            | ({"routes": each.routes} if each.routes else {})
            | ({"inputs": each.inputs} if each.inputs else {})
            for each in self.trials
        ]
        return {"trials": trials}


def overview(trials: Sequence[ReopenedTrial]) -> Overviews:
    """The lost questions of one or two trials; ConfigError if their questions differ."""
    if len({each.trial.golden.asked_digest for each in trials}) > 1:
        raise ConfigError("trial", "the two trials have different questions", "name two trials over the same questions")
    overviews = [_overview(each) for each in trials]
    lost = {query_id for each in overviews for query_id in each.lost}
    queries = [example.query for example in trials[0].trial.golden.examples]
    return Overviews({query.query_id: query.text for query in queries if query.query_id in lost}, overviews)


def _overview(reopened: ReopenedTrial) -> Overview:
    trial, made, store = reopened.trial, reopened.made, reopened.store
    lost = blame.lost_questions(trial, made, store)
    return Overview(
        trial_id=trial.trial_id,
        name=trial.trial.name,
        named=reopened.named,
        questions=len(trial.golden.examples),
        answerable=sum(bool(example.ranked) for example in trial.golden.examples),
        counts=blame.counts(lost),
        lost={each.query_id: each for each in lost},
        headroom={column: headroom.measure_headroom(trial, made, store, column) for column in _columns(trial)},
        routes=confusion(trial, made, store),
        inputs=confusion(trial, made, store, "input"),
    )


def _columns(trial: PlannedTrial) -> list[str]:
    """The usual or first ranking column and, if answers are generated, the usual or first answer column."""
    config = trial.trial.config
    columns = {column: parse_column(column, config["k"]).unit for column in config["metrics"]}
    rankings, answers = ([column for column, unit in columns.items() if bool(unit) is kind] for kind in (True, False))
    chosen = [USUAL if USUAL in rankings else rankings[0]] if rankings else []
    if answers and trial.ends.generate:
        chosen.append(ANSWERS if ANSWERS in answers else answers[0])
    return chosen
