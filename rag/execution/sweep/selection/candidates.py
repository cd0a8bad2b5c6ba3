"""Stored results of a sweep as candidates for the recommendation, and those that compete."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag.config.identity import digest
from rag.core.arrays import Floats
from rag.evaluation.data.golden import Golden
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep.leaderboard import Leaderboard, Row
from rag.execution.sweep.objective import Objective
from rag.execution.sweep.selection.winner import Entrant, Mean, Standing
from rag.execution.sweep.trial_scores import scores_of, seconds_of


@dataclass
class Candidates:
    """The measured trials of a sweep: admitted entrants, best first, the others, and the objective per question of all."""

    board: Leaderboard
    made: Plan
    store: Store
    entrants: list[Entrant] = field(default_factory=list)
    others: list[Standing] = field(default_factory=list)
    values: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.trials = {trial.trial_id: trial for trial in self.made.trials}
        placed: set[str] = set()
        for row in self.board.rows:
            if row.trial_id not in placed:
                self._place(row, self.trials[row.trial_id])
            placed.add(row.trial_id)

    @property
    def objective(self) -> Objective:
        """The objective that they compete in."""
        return self.board.objective

    @property
    def goldens(self) -> list[Golden]:
        """The distinct golden sets that trials were scored on."""
        return list({trial.golden.asked_digest: trial.golden for trial in self.trials.values()}.values())

    def withdraw(self, entrants: Iterable[Entrant]) -> None:
        """Take entrants out of the contest."""
        for each in list(entrants):
            self.entrants.remove(each)
            self.values.pop(each.trial_id, None)
            self.others.append(Standing(each.trial_id, each.name, each.reached, admitted=False))

    def rank_apart(self) -> tuple[str, ...]:
        """Withdraw trials in which something stands in for the model that answers, where others have one; a remark on that."""
        apart = {row.trial_id for row in self.board.rows if row.apart}
        out = [each for each in self.entrants if each.trial_id in apart]
        if not out or len(out) == len(self.entrants):
            return ()
        self.withdraw(out)
        names = ", ".join(each.name for each in out)
        return (f"Ranked apart, because no model answers and a model does in others: {names}.",)

    def _place(self, row: Row, trial: PlannedTrial) -> None:
        reached = row.reached(self.objective)
        mean = Mean.from_json(reached)
        worth = row.worth(self.objective)
        scores = scores_of(trial, self.made, self.store) if row.status == "done" and worth == worth else None
        control = trial.trial.config.get("control", "none") != "none"
        if scores is not None and not control and not self.objective.measured:
            self.values[row.trial_id] = self.objective.per_question(scores)
        if scores is None or row.broken or control:
            self.others.append(Standing(row.trial_id, row.name, mean, admitted=False, broken=row.broken))
            return
        usual = Objective.parse("", self.board.columns)
        answered = self.objective.measured and usual.column in scores.columns
        quality = usual.per_question(scores) if answered else None
        scales = (row.value(name) for name in ("latency_p95_ms", "cost_usd", "index_bytes", "chars_read"))
        values, seconds = self.values.get(row.trial_id), seconds_of(trial, self.made, self.store)
        seconds = np.empty(0) if seconds is None else seconds
        self.entrants.append(Entrant(row.trial_id, row.name, values, quality, mean, seconds, *scales))


SEARCH = "embedder", "index", "fusion", "reranker"
"""Roles in which words and vectors compete."""
SAID = "The questions are by rules and repeat words of their passages: they do not rank one search against another"


def keep_comparable(candidates: Candidates) -> tuple[str, ...]:
    """Take trials out of the contest whose search is not that of the others, where half of the questions are by rules.

    Trials with the most indexes compete, and among these the first of the experiment and those with its search. Return a
    remark on that.
    """
    examples = candidates.made.trials[0].golden.examples
    if 2 * sum(example.by_rules for example in examples) < len(examples):
        return ()
    configs = {each.trial_id: candidates.trials[each.trial_id].trial.config for each in candidates.entrants}
    order = [trial.trial_id for trial in candidates.made.trials if trial.trial_id in configs]
    first = max(order, key=lambda name: (len(configs[name]["index"]), -order.index(name)), default="")
    out = [each for each in candidates.entrants if _search(configs[each.trial_id]) != _search(configs[first])]
    candidates.withdraw(out)
    kept = f"{candidates.trials[first].trial.name} and those with its search compete, {len(out)} trials with others do not"
    return (f"{SAID}: {kept}." if out else f"{SAID}.",)


def _search(config: Mapping[str, Any]) -> str:
    return digest({role: config[role] for role in SEARCH})
