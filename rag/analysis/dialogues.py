"""A trial turn by turn: its scores and costs on the first question of each conversation, the second and so on.

A *carry-over error* is a follow-up whose evidence is among the first k passages for a person's rewrite of it, but not for the
query of the trial: the search lacked something that was said before. It is counted over the follow-ups that have evidence and a
rewrite; the rest of the pipeline is the same on both sides.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from rag.analysis.blame.corridor import Steps
from rag.analysis.blame.reader import Reader
from rag.analysis.why import ReopenedTrial
from rag.config.compose import compose, resolve
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.config.validation import history_of
from rag.core.arrays import Flags, Floats
from rag.core.errors import DataError
from rag.core.numbers import finite, mean
from rag.core.rankings import Rankings
from rag.core.text import tokens
from rag.core.types import Reply, Sought
from rag.evaluation.data import slices
from rag.evaluation.scoring import Scores, judge
from rag.evaluation.statistics.summary import summarise
from rag.execution.graph import plan
from rag.execution.graph.executors import Watch
from rag.execution.graph.plan import PlannedTrial
from rag.execution.store.serialisation import answer_parts, looks_of, sought_of


@dataclass(frozen=True)
class ReusedPassages:
    """Of the `questions` of a trial, those that were answered without a search (`saved`) or with `half` of one.

    `passages` were used again, and a fresh search would not have had `stale` of them among its first k. Of the questions with
    evidence, `lost` and `won` have all of it within k only with a fresh search, or only without.
    """

    questions: int
    saved: int
    half: int
    passages: int
    stale: int
    evidence: int
    lost: int
    won: int


def reused_passages(reader: Reader, trial: PlannedTrial, k: int, evidence: Flags) -> ReusedPassages | None:
    """Compare a trial with fresh searches for the same questions; None for a trial without a retrieval memory."""
    entry, selected = reader.runner.obtain(trial.ends.ranking), reader.rankings(trial.ends.ranking)
    if "fresh" not in entry.meta:
        return None
    fresh = {int(row): positions for row, positions in entry.meta["fresh"].items()}
    acts = [{step.act for step in look.steps} if look else set() for look in looks_of(entry.meta)]
    passages = stale = 0
    for row, searched in fresh.items():
        own = [place for place, _ in selected.only(row).first(k).row(0)]
        reused = set(own) - (set() if "reuse" in acts[row] else set(searched[: (k + 1) // 2]))
        passages, stale = passages + len(reused), stale + len(reused - set(searched))
    rows = [fresh.get(row) or [place for place, _ in selected.only(row).first(k).row(0)] for row in range(len(selected))]
    ranked = Rankings.pack([[(place, -float(number)) for number, place in enumerate(row)] for row in rows])
    found = [(judge(each, reader.gold(trial)).group_ranks != 0).all(axis=1) & evidence for each in (selected.first(k), ranked)]
    counts = int(evidence.sum()), int((found[1] & ~found[0]).sum()), int((found[0] & ~found[1]).sum())
    saved = sum("reuse" in each for each in acts)
    return ReusedPassages(len(acts), saved, len(fresh) - saved, passages, stale, *counts)


HUMAN = ("queries=human", "generator=none", "metric=[recall]", "metrics=[recall@1]")
"""The overrides for the twin of a trial that searches for the rewrites of a person and generates nothing."""


@dataclass(frozen=True)
class AtTurn:
    """The questions at one turn of their dialogues; `turn` is 0 for all questions.

    `scores` has mean, low, high and n by column. `found` is the share of questions with evidence for which all of it is within
    the first k. `lost` of the `followups` are carry-over errors. `declined` is the share of answers that decline. Per question,
    `prompt_tokens` are the tokens of a request (`rag.core.text.tokens`), `tokens` those that all models reported. None for what
    is unknown.
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
    """A carry-over error: the question, the rewrite that finds its evidence, and the texts that were searched for instead."""

    question: str
    text: str
    rewrite: str
    sought: tuple[str, ...]


@dataclass(frozen=True)
class Dialogues:
    """A trial turn by turn; the last row is for all turns. `reused` is None without a retrieval memory."""

    trial: str
    name: str
    history: str
    k: int
    turns: tuple[AtTurn, ...]
    lost: tuple[Lost, ...]
    reused: ReusedPassages | None = None

    def to_json(self) -> dict[str, Any]:
        """What `rag study dialogues --json` prints."""
        return asdict(self)


def study_dialogues(reopened: ReopenedTrial, watch: Watch) -> Dialogues:
    """Read a trial that ran, and run its human twin; DataError for a golden set without turns of dialogues."""
    golden, config = reopened.trial.golden, reopened.trial.trial.config
    parts = slices.slices_along(golden, ("turn",))
    if not parts:
        raise DataError("dataset", "no question of this golden set is a turn of a dialogue", "for example: dataset=dialogues")
    human = _human(reopened)
    if human.made.to_run:
        with watch(human.made) as listen:
            human.run(listen)
    trial = _Trial(reopened)
    lost = trial.followups & ~trial.found & _Trial(human).found
    everything = np.ones(len(golden.examples), np.bool_)
    members = [(int(part.name.partition("=")[2]), part.members) for part in parts]
    rows = tuple(trial.at(turn, chosen, lost) for turn, chosen in [*members, (0, everything)])
    trial_id, name = reopened.trial.trial_id, reopened.trial.trial.name
    return Dialogues(trial_id, name, history_of(config), config["k"], rows, trial.errors(lost), trial.reused)


def _human(reopened: ReopenedTrial) -> ReopenedTrial:
    trial = reopened.trial.trial
    composed = resolve(compose(HUMAN))
    parts = {key: composed[key] for key in ("queries", "generator", "metric", "metrics", "reuse")}
    twin = Trial("human", {}, {**trial.config, **parts, "history": "gold", "latency": 0})
    made = plan.assemble(Experiment("dialogues", "", ()), [twin], reopened.store)
    steps = Steps.of(made.trials[0], made.stages) or reopened.steps
    return replace(reopened, trial=made.trials[0], steps=steps, made=made)


class _Trial:
    def __init__(self, reopened: ReopenedTrial) -> None:
        self.reopened, self.examples = reopened, reopened.trial.golden.examples
        self.reader = Reader(reopened.made, reopened.store)
        self.evidence = np.array([bool(example.ranked) for example in self.examples])
        follows = [bool(example.query.history and example.query.rewrite) for example in self.examples]
        self.followups = self.evidence & np.array(follows)
        ranks, k = self.reader.group_ranks(reopened.trial, reopened.steps.selected, 0), reopened.trial.trial.config["k"]
        self.found: Flags = self.evidence & ((ranks < 0) | ((ranks > 0) & (ranks <= k))).all(axis=1)
        self.scores = Scores.from_arrays(self.reader.runner.obtain(reopened.trial.ends.score).arrays)
        self.declined, self.prompt, self.spent = self._answered()
        self.reused = reused_passages(self.reader, reopened.trial, k, self.evidence)

    def at(self, turn: int, chosen: Flags, lost: Flags) -> AtTurn:
        """The row of one turn."""
        examples = [example for example, here in zip(self.examples, chosen, strict=True) if here]
        names = tuple(example.query.query_id for example in examples)
        part = Scores(names, self.scores.columns, self.scores.values[chosen], self.scores.failed[chosen])
        scores = summarise(part, examples).to_json()["columns"]
        counts = int((chosen & self.followups).sum()), int((chosen & lost).sum())
        parts = (self.found[chosen & self.evidence], self.declined[chosen], self.prompt[chosen], self.spent[chosen])
        found, declined, prompt, spent = (finite(mean(part)) for part in parts)
        return AtTurn(turn, len(examples), scores, found, *counts, declined, prompt, spent)

    def errors(self, lost: Flags) -> tuple[Lost, ...]:
        """The carry-over errors."""
        sought = self._sought()
        rows = [(self.examples[row].query, sought[row]) for row in np.flatnonzero(lost)]
        return tuple(Lost(query.query_id, query.text, query.rewrite, searched.texts) for query, searched in rows)

    def _answered(self) -> tuple[Floats, Floats, Floats]:
        """By question, NaN if unknown: 1 if it was declined, the tokens of its request, and the tokens reported by models."""
        ends, unknown = self.reopened.trial.ends, np.full(len(self.examples), np.nan)
        if not ends.generate or not ends.check:
            return unknown, unknown, unknown
        answers = answer_parts(self.reader.runner.obtain(ends.check).meta)
        declined = np.array([float(part.abstained) if part else np.nan for part in answers])
        requests = [prepared.request for prepared in self.reader.runner.job(ends.generate).prepared()]
        prompt = [sum(tokens.count(message.content) for message in each.messages) if each else 0 for each in requests]
        return declined, np.array(prompt, np.float64), self._spent([part.reply if part else None for part in answers])

    def _spent(self, replies: Sequence[Reply | None]) -> Floats:
        """The tokens for answering each question, including those of memory and rewriting."""
        recalled = self.reader.runner.obtain(self.reopened.trial.ends.generate or "").meta.get("recalled", [])
        sought = self._sought()
        spent = [reply.prompt_tokens + reply.completion_tokens if reply else 0 for reply in replies]
        rows = zip_longest(spent, (part["tokens"] for part in recalled), (searched.tokens for searched in sought), fillvalue=0)
        return np.array([sum(row) for row in rows], np.float64)

    def _sought(self) -> list[Sought]:
        steps = self.reopened.steps
        if not steps.indexes:
            return sought_of(self.reader.runner.obtain(steps.fused).meta)
        return self.reader.runner.job(next(iter(steps.indexes.values()))).sought
