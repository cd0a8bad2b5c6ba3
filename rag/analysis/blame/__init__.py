"""For every question that a trial lost, the one stage that lost it.

A question is lost when a group of its evidence is not satisfied within the trial's `k` in the final ranking, ranks counted as
its metrics count them (`rag.evaluation.gold_matching.Judged`: hits, or documents where all gold is whole documents), or, where
the trial generates, not satisfied by the contexts that the generator reads, the first `k` hits and their neighbours. A group of
a lost question is looked for along the corridor. Each stage of STAGES has something that must hold of the group for the stage
to be innocent:

1. *not in the corpus*: the corpus has a document of an alternative, and there is text in it.
2. *cut apart by the chunker*: one chunk alone satisfies the group (it holds `coverage` of the characters of an alternative, or
   lies in a whole gold document), or the first `k` of some ranking on the way did, put together. A union that only many more
   chunks make up does not count: who reads `k` of them cannot have it.
3. *not among the candidates of any index*: all candidates of one index satisfy it, or all that fusion made of them.
4. *ranked too low by every index*: so do those of one index above the cut. The cut is what can still come to be read: the first
   `rerank_depth` chunks where a reranker looks at them, and the first `k` in any case.
5. *lost in fusion*: so does the fused ranking above the cut.
6. *lost in reranking*: so does the reranked one within `k`.
7. *dropped by a selector*: so does the final one within `k`. A selector that widens can also push a group behind `k`.
8. *left out of the prompt*: so do the contexts.
9. *in the contexts, not in the answer*: the answer is not known to be wrong.

From 3 to 8, what holds after a later stage holds before: a stage that mends what an earlier one broke clears it. The group fell
out at the first stage that is not innocent, and the question at the earliest stage among its groups, the first such group. A
stage that changes nothing, as a reranker `none`, passes on what it got and loses nothing. A question without gold is never lost
here. Trials of controls that give a generator something else to read than what was found have no corridor, and lose nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from rag.analysis.blame.answers import is_wrong, measured, wrong
from rag.analysis.blame.corridor import ANSWER, NOWHERE, STAGES, Ground, Steps, fallen
from rag.analysis.blame.reader import Reader
from rag.components.loaders.quote_anchors import closest_names
from rag.core.errors import ConfigError, DataError
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.store import Store

__all__ = [
    "ANSWER",
    "STAGES",
    "Ground",
    "Lost",
    "Reader",
    "Steps",
    "counts",
    "fallen",
    "is_wrong",
    "lost_questions",
    "measured",
    "of_all",
    "wrong",
]


@dataclass(frozen=True)
class Lost:
    """A question that was lost: where, and the number of the group, from 0, that was lost there (0 if it was the answer)."""

    query_id: str
    stage: str
    group: int


def lost_questions(
    trial: PlannedTrial,
    made: Plan,
    store: Store,
    questions: Collection[str] | None = None,
    wrong: Collection[str] = (),
    reader: Reader | None = None,
) -> tuple[Lost, ...]:
    """The questions that a trial lost, each with its stage, in the order of the golden set.

    `questions` are the only ids that are looked at, where given. `wrong` are ids of questions whose answer is known to be wrong
    (`rag.analysis.blame.wrong`): they are lost too, where nothing before the answer lost them. Several trials of a plan may
    share a `reader`. DataError for a trial without scores, ConfigError for an id that no question has.
    """
    if not store.has(made.stages[trial.ends.score].entry):
        raise DataError(f"trial {trial.trial_id}", "has no scores in the store", "run its sweep again: what is there is reused")
    ids = [example.query.query_id for example in trial.golden.examples]
    for unknown in {*(questions or ()), *wrong} - set(ids):
        raise ConfigError("questions", f"no question of trial {trial.trial_id} is {unknown!r}", closest_names(unknown, ids))
    found = (reader or Reader(made, store)).stages(trial)
    if found is None:
        return ()
    answerable = [bool(example.evidence) for example in trial.golden.examples]
    worst = np.where(found == NOWHERE, len(STAGES), found)
    first, group = worst.min(axis=1), worst.argmin(axis=1)
    lost = []
    for row, query_id in enumerate(ids):
        if first[row] == len(STAGES) and query_id in wrong and answerable[row]:
            lost.append(Lost(query_id, STAGES[ANSWER], 0))
        elif first[row] < len(STAGES):
            lost.append(Lost(query_id, STAGES[first[row]], int(group[row])))
    return tuple(one for one in lost if questions is None or one.query_id in questions)


def of_all(made: Plan, store: Store) -> dict[str, tuple[Lost, ...]]:
    """The questions that each trial of a plan lost, by trial id; trials without scores are left out."""
    reader = Reader(made, store)
    scored = [trial for trial in made.trials if store.has(made.stages[trial.ends.score].entry)]
    return {trial.trial_id: lost_questions(trial, made, store, reader=reader) for trial in scored}


def counts(lost: Iterable[Lost]) -> dict[str, int]:
    """Lost questions by stage, in the order of the corridor, stages that lost none included."""
    found = Counter(one.stage for one in lost)
    return {stage: found[stage] for stage in STAGES}
