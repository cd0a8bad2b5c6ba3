"""For every question that a trial lost, the one stage that lost it.

A question is lost if a group of its evidence is not satisfied within the trial's `k` in the final ranking, ranks counted as
its metrics count them (`rag.evaluation.gold_matching.Judged`: hits, or documents if all gold is whole documents), or, if the
trial generates, not satisfied by the contexts that the generator reads, the first `k` hits and their neighbours. A group of a
lost question is followed through the pipeline. Each stage of STAGES has a condition on the group; a stage whose condition holds
is innocent:

1. *not in the corpus*: the corpus has a document of an alternative, and there is text in it.
2. *lost by the parser*: of the group's quotes in parsed documents one is in the text or was lost later, see
   `rag.documents.anchors.parsed_anchors`.
3. *not placed in its text*: one has a place, or was lost later. Its words are there; its place is not certain.
4. *lost by redaction*: one is in the text, or was dropped as noise.
5. *dropped as noise*: one is in the text.
6. *cut apart by the chunker*: one chunk alone satisfies the group (it has `coverage` of the characters of an alternative, or
   lies in a whole gold document), or the first `k` hits of some ranking do together. A union of more than `k` chunks does not
   count: the generator reads only `k`.
7. *not among the candidates of any index*: all candidates of one index, or all fused candidates, satisfy the group.
8. *ranked too low by every index*: the candidates of one index above the cut satisfy it. The cut is `k`, or `rerank_depth` if a
   reranker reads that many and that is more.
9. *lost in fusion*: the fused ranking above the cut satisfies it.
10. *lost in reranking*: the reranked ranking within `k` satisfies it.
11. *dropped by a selector*: the final ranking within `k` satisfies it. A selector that widens can push a group beyond `k`.
12. *left out of the prompt*: the contexts satisfy it.
13. *in the contexts, not in the answer*: the answer is not known to be wrong.

From 7 to 12, a condition that holds after a later stage counts as held before: a stage that repairs an earlier loss clears it.
A group is lost at its first stage that is not innocent, a question at the earliest stage of its groups (the first such group).
A stage that changes nothing, such as reranker `none`, loses nothing. A question without gold is never lost. Trials with a
control that replaces the contexts are not traced, and lose nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rag.analysis.blame.corridor import ANSWER, NOWHERE, STAGES
from rag.analysis.blame.reader import Reader
from rag.core.errors import ConfigError, DataError
from rag.core.text.squad import normalised
from rag.core.types import Example, Reply
from rag.documents.anchors.quote_anchors import closest_names
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import replies_of
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores

__all__ = ["STAGES", "Lost", "Reader", "counts", "is_wrong", "lost_questions", "measured", "wrong"]


@dataclass(frozen=True)
class Lost:
    """A lost question: the stage that lost it, and the number of the lost group, from 0 (0 if the answer was wrong)."""

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

    `questions` limits the result to these ids. `wrong` are ids of questions with a wrong answer (`rag.analysis.blame.wrong`):
    they are lost too, at the answer if no earlier stage lost them. Several trials of a plan may share a `reader`. DataError for
    a trial without scores, ConfigError for an unknown id.
    """
    if not store.has(made.stages[trial.ends.score].entry):
        remedy = "run its sweep again: stored stages are reused"
        raise DataError(f"trial {trial.trial_id}", "has no scores in the store", remedy)
    ids = [example.query.query_id for example in trial.golden.examples]
    for unknown in {*(questions or ()), *wrong} - set(ids):
        raise ConfigError("questions", f"no question of trial {trial.trial_id} is {unknown!r}", closest_names(unknown, ids))
    stages = (reader or Reader(made, store)).stages(trial)
    if stages is None:
        return ()
    answerable = [bool(example.ranked) for example in trial.golden.examples]
    worst = np.where(stages == NOWHERE, len(STAGES), stages)
    first, group = worst.min(axis=1), worst.argmin(axis=1)
    lost = []
    for row, query_id in enumerate(ids):
        if first[row] == len(STAGES) and query_id in wrong and answerable[row]:
            lost.append(Lost(query_id, STAGES[ANSWER], 0))
        elif first[row] < len(STAGES):
            lost.append(Lost(query_id, STAGES[first[row]], int(group[row])))
    return tuple(each for each in lost if questions is None or each.query_id in questions)


def counts(lost: Iterable[Lost]) -> dict[str, int]:
    """The number of lost questions by stage, in the order of the pipeline, including stages that lost none."""
    by_stage = Counter(each.stage for each in lost)
    return {stage: by_stage[stage] for stage in STAGES}


WRONG = 0.5
"""An answer counts as wrong if it contains no reference and every answer metric is below this."""


def measured(scores: Scores, row: int, k: int) -> dict[str, float]:
    """The scores of one question in the answer metrics (those without a cut) that apply to it."""
    columns = [column for column in scores.columns if not parse_column(column, k).unit]
    values = {column: float(scores.column(column)[row]) for column in columns}
    return {column: value for column, value in values.items() if not np.isnan(value)}


def is_wrong(reply: Reply, example: Example, values: Mapping[str, float]) -> bool:
    """True if a reply is wrong by WRONG; False without an answer metric that applies."""
    text = f" {normalised(reply.text)} "
    contained = any(f" {normalised(answer)} " in text for answer in example.answers)
    return bool(values) and not contained and max(values.values()) < WRONG


def wrong(trial: PlannedTrial, made: Plan, store: Store) -> frozenset[str]:
    """Ids of questions with a wrong answer; none if the trial generates nothing. DataError without scores."""
    entry = store.read(made.stages[trial.ends.check].entry) if trial.ends.check else None
    if entry is None:
        return frozenset()
    scores, k = trial_scores.read_scores(trial, made, store).scores, trial.trial.config["k"]
    answered = zip(replies_of(entry), trial.golden.examples, strict=True)
    return frozenset(
        example.query.query_id
        for row, (reply, example) in enumerate(answered)
        if is_wrong(reply, example, measured(scores, row, k))
    )
