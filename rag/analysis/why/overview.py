"""Everything that a trial lost: by stage, question by question, and what its parts leave on the table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis import blame, headroom
from rag.analysis.blame import Lost
from rag.analysis.headroom import Headroom
from rag.analysis.why.reopened_trial import ReopenedTrial
from rag.core.errors import ConfigError
from rag.evaluation.scoring import parse_column
from rag.execution.sweep.objective import USUAL

ANSWERS = "token_f1"
"""The answer metric whose headroom is told where it is measured."""


@dataclass(frozen=True)
class Overview:
    """What a trial lost: `lost` by question id, `counts` by stage; `headroom` by column. `answerable` questions have gold.

    `named` is how the trial was named on the command line.
    """

    trial_id: str
    name: str
    named: str
    questions: int
    answerable: int
    counts: Mapping[str, int]
    lost: Mapping[str, Lost]
    headroom: Mapping[str, Sequence[Headroom]]


@dataclass(frozen=True)
class Overviews:
    """One trial or two over the same questions; `texts` has the words of every question that one of them lost."""

    texts: Mapping[str, str]
    trials: Sequence[Overview]

    def to_json(self) -> dict[str, Any]:
        """What `rag why --json` prints without a question."""
        trials = [
            {"trial": one.trial_id, "name": one.name, "questions": one.questions, "answerable": one.answerable}
            | {"counts": dict(one.counts), "lost": [asdict(lost) for lost in one.lost.values()]}
            | {"headroom": {column: [part.to_json() for part in parts] for column, parts in one.headroom.items()}}
            for one in self.trials
        ]
        return {"trials": trials}


def overview(asked: Sequence[ReopenedTrial]) -> Overviews:
    """What one trial or two lost; ConfigError where two were asked different questions."""
    if len({one.trial.golden.golden_digest for one in asked}) > 1:
        raise ConfigError("trial", "the two were asked different questions", "name two trials over the same questions")
    found = [_of(one) for one in asked]
    lost = {query_id for one in found for query_id in one.lost}
    queries = [example.query for example in asked[0].trial.golden.examples]
    return Overviews({query.query_id: query.text for query in queries if query.query_id in lost}, found)


def _of(asked: ReopenedTrial) -> Overview:
    trial, made, store = asked.trial, asked.made, asked.store
    lost = blame.lost_questions(trial, made, store)
    return Overview(
        trial_id=trial.trial_id,
        name=trial.trial.name,
        named=asked.named,
        questions=len(trial.golden.examples),
        answerable=sum(bool(example.evidence) for example in trial.golden.examples),
        counts=blame.counts(lost),
        lost={one.query_id: one for one in lost},
        headroom={column: headroom.measure_headroom(trial, made, store, column) for column in _columns(asked)},
    )


def _columns(asked: ReopenedTrial) -> list[str]:
    """The usual ranking column or the first, and the usual answer column or the first where answers are generated."""
    config = asked.trial.trial.config
    columns = {column: parse_column(column, config["k"]).unit for column in config["metrics"]}
    rankings, answers = ([column for column, unit in columns.items() if bool(unit) is kind] for kind in (True, False))
    chosen = [USUAL if USUAL in rankings else rankings[0]] if rankings else []
    if answers and asked.trial.ends.generate:
        chosen.append(ANSWERS if ANSWERS in answers else answers[0])
    return chosen
