"""A trial turn by turn: how well it answers the first question of a conversation, the second and so on, and what that takes.

A *carry-over error* is a follow-up whose evidence is within the first k passages when a person's rewrite of it is searched for,
and is not with what the trial searches for: something that was said before did not reach the search. It is looked for among
the follow-ups that have evidence and a rewrite; the rest of the pipeline is the same on both sides.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag.analysis.blame import Steps
from rag.analysis.blame.reader import Reader
from rag.analysis.why import ReopenedTrial
from rag.config.compose import compose, hydra_ready, resolve
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.config.validation import history_of
from rag.core.errors import DataError
from rag.core.records import Reply
from rag.core.text import tokens
from rag.evaluation.data import slices
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.summary import summarise
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener
from rag.execution.graph.plan import Plan
from rag.execution.graph.stage_inputs import Job
from rag.execution.store.serialisation import answer_parts

HUMAN = ("queries=human", "generator=none", "metric=[recall]", "metrics=[recall@1]")
"""What makes of a trial the one that a person rewrites for, which answers nothing."""

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]


class Watch(Protocol):
    """Shows the progress of a plan."""

    def __call__(self, made: Plan) -> AbstractContextManager[Listener]:
        """What listens to its stages."""
        ...


@dataclass(frozen=True)
class AtTurn:
    """The questions that came at one place of their dialogues; `turn` is 0 for all of them.

    `scores` has mean, low, high and n by column. `found` is the share of questions with evidence that have all of it within the
    first k. `lost` of the `followups` are carry-over errors. `declined` is the share of answers that decline. `prompt_tokens`
    are those of a request as `rag.core.text.tokens` counts them, `tokens` those that all models together reported, both per
    question. None for what cannot be known.
    """

    turn: int
    questions: int
    scores: dict[str, Any]
    found: float | None
    followups: int
    lost: int
    declined: float | None
    prompt_tokens: float | None
    tokens: float | None


@dataclass(frozen=True)
class Lost:
    """A carry-over error: the question, the rewrite that finds its evidence, and what was searched for instead."""

    question: str
    text: str
    rewrite: str
    sought: tuple[str, ...]


@dataclass(frozen=True)
class Dialogues:
    """A trial turn by turn; the last row is all of them."""

    trial: str
    name: str
    history: str
    k: int
    turns: tuple[AtTurn, ...]
    lost: tuple[Lost, ...]

    def to_json(self) -> dict[str, Any]:
        """What `rag dialogues --json` prints."""
        return asdict(self)


def study_dialogues(asked: ReopenedTrial, watch: Watch) -> Dialogues:
    """Look at a trial that ran, and run its human twin; DataError for a golden set whose questions are no turns."""
    golden, config = asked.trial.golden, asked.trial.trial.config
    parts = slices.slices_along(golden, ("turn",))
    if not parts:
        raise DataError("dataset", "no question of this golden set is a turn of a dialogue", "for example: dataset=dialogues")
    human = _human(asked)
    if human.made.to_run:
        with watch(human.made) as listen:
            human.run(listen)
    trial = _Trial(asked)
    lost = trial.followups & ~trial.found & _Trial(human).found
    everything = np.ones(len(golden.examples), np.bool_)
    members = [(int(part.name.partition("=")[2]), part.members) for part in parts]
    rows = tuple(trial.at(turn, chosen, lost) for turn, chosen in [*members, (0, everything)])
    trial_id, name = asked.trial.trial_id, asked.trial.trial.name
    return Dialogues(trial_id, name, history_of(config), config["k"], rows, trial.errors(lost))


def _human(asked: ReopenedTrial) -> ReopenedTrial:
    trial = asked.trial.trial
    with hydra_ready():
        composed = resolve(compose(HUMAN))
    parts = {key: composed[key] for key in ("queries", "generator", "metric", "metrics")}
    twin = Trial("human", {}, {**trial.config, **parts, "history": "gold", "latency": 0})
    made = plan.assemble(Experiment("dialogues", "", ()), [twin], asked.store)
    steps = Steps.of(made.trials[0], made.stages) or asked.steps
    return replace(asked, trial=made.trials[0], steps=steps, made=made)


class _Trial:
    """What a trial left, by question."""

    def __init__(self, asked: ReopenedTrial) -> None:
        self.asked, self.examples = asked, asked.trial.golden.examples
        self.reader = Reader(asked.made, asked.store)
        self.evidence = np.array([bool(example.evidence) for example in self.examples])
        follows = [bool(example.query.history and example.query.rewrite) for example in self.examples]
        self.followups = self.evidence & np.array(follows)
        ranks = self.reader.look(asked.trial, asked.steps.selected, 0)
        self.found: Flags = self.evidence & ((ranks < 0) | ((ranks > 0) & (ranks <= asked.trial.trial.config["k"]))).all(axis=1)
        self.scores = Scores.from_arrays(self.reader.runner.obtain(asked.trial.ends.score).arrays)
        self.declined, self.prompt, self.spent = self._answered()

    def at(self, turn: int, chosen: Flags, lost: Flags) -> AtTurn:
        """One row."""
        examples = [example for example, here in zip(self.examples, chosen, strict=True) if here]
        names = tuple(example.query.query_id for example in examples)
        part = Scores(names, self.scores.columns, self.scores.values[chosen], self.scores.failed[chosen])
        scores = summarise(part, examples).to_json()["columns"]
        counts = int((chosen & self.followups).sum()), int((chosen & lost).sum())
        found, declined = _mean(self.found[chosen & self.evidence]), _mean(self.declined[chosen])
        spent = _mean(self.prompt[chosen]), _mean(self.spent[chosen])
        return AtTurn(turn, len(examples), scores, found, *counts, declined, *spent)

    def errors(self, lost: Flags) -> tuple[Lost, ...]:
        """The questions that were searched for in the wrong words."""
        sought = self._job(next(iter(self.asked.steps.indexes.values()))).sought
        rows = [(self.examples[row].query, sought[row]) for row in np.flatnonzero(lost)]
        return tuple(Lost(query.query_id, query.text, query.rewrite, found.texts) for query, found in rows)

    def _answered(self) -> tuple[Numbers, Numbers, Numbers]:
        """By question, NaN where nothing is known: whether it was declined, tokens of its request, and what models reported."""
        ends, unknown = self.asked.trial.ends, np.full(len(self.examples), np.nan)
        if not ends.generate or not ends.check:
            return unknown, unknown, unknown
        answers = answer_parts(self.reader.runner.obtain(ends.check).meta)
        declined = np.array([float(part.abstained) if part else np.nan for part in answers])
        requests = [one.request for one in self._job(ends.generate).prepared()]
        prompt = [sum(tokens.count(message.content) for message in one.messages) if one else 0 for one in requests]
        return declined, np.array(prompt, np.float64), self._spent([part.reply if part else None for part in answers])

    def _spent(self, replies: Sequence[Reply | None]) -> Numbers:
        """What answering took; the tokens of memory and of rewriting are told by question too."""
        recalled = self.reader.runner.obtain(self.asked.trial.ends.generate or "").meta.get("recalled", [])
        sought = self._job(next(iter(self.asked.steps.indexes.values()))).sought
        spent = [reply.prompt_tokens + reply.completion_tokens if reply else 0 for reply in replies]
        rows = zip_longest(spent, (part["tokens"] for part in recalled), (found.tokens for found in sought), fillvalue=0)
        return np.array([sum(row) for row in rows], np.float64)

    def _job(self, key: str) -> Job:
        """A stage with its inputs, to be looked into."""
        made, runner = self.asked.made, self.reader.runner
        stage = made.stages[key]
        inputs = {name: runner.obtain(source) for name, source in stage.inputs.items() if source in made.stages}
        return Job(stage.nodes, stage.values, inputs, self.asked.trial.golden, made.graph.components, self.asked.store)


def _mean(values: NDArray[Any]) -> float | None:
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(known.mean()) if len(known) else None
