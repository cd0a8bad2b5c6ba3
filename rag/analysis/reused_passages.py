"""What a retrieval memory saved in a trial, and what it cost: passages and evidence that a fresh search would have changed."""

from dataclasses import dataclass

import numpy as np

from rag.analysis.blame.reader import Reader
from rag.core.arrays import Flags
from rag.core.rankings import Rankings
from rag.evaluation.scoring import judge
from rag.execution.graph.plan import PlannedTrial
from rag.execution.store.serialisation import looks_of


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
    found = [_found(judge(each, reader.gold(trial)).group_ranks) & evidence for each in (selected.first(k), ranked)]
    counts = int(evidence.sum()), int((found[1] & ~found[0]).sum()), int((found[0] & ~found[1]).sum())
    saved = sum("reuse" in each for each in acts)
    return ReusedPassages(len(acts), saved, len(fresh) - saved, passages, stale, *counts)


def _found(ranks: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> Flags:
    """The questions with all groups in their ranking."""
    return np.asarray((ranks != 0).all(axis=1))
