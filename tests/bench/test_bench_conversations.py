"""What is searched for in conversations, against figures that were taken with other code."""

from pathlib import Path

import numpy as np
import pytest
from bench.measuring import Report, declared, means, needs_data, swept
from numpy.typing import NDArray

from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import find_slice
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.paired import family
from rag.execution.graph.plan import PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import Sweep

pytestmark = [pytest.mark.bench]

REFERENCE = {"last turn": 0.578, "all turns": 0.434, "human": 0.610}
WITHIN = 0.01

Floats = NDArray[np.float64]


def columns(done: Sweep, store: Store) -> tuple[Golden, dict[str, Floats]]:
    """The golden set, and nDCG@10 of every question by trial."""
    trials = done.plan.trials
    names = {row.trial_id: row.name for row in done.board.rows}
    return trials[0].golden, {names[trial.trial_id]: _column(trial, done, store) for trial in trials}


def _column(trial: PlannedTrial, done: Sweep, store: Store) -> Floats:
    entry = store.read(done.plan.stages[trial.ends.score].entry)
    assert entry is not None
    return Scores.from_arrays(entry.arrays).column("ndcg@10")


def against(title: str, golden: Golden, found: dict[str, Floats], base: str, part: str) -> dict[str, float]:
    """Print every trial beside `base` on a slice of the questions, as one family; the mean differences."""
    members = find_slice(golden, part).members
    clusters = np.unique([e.cluster for e in golden.examples], return_inverse=True)[1][members]
    others = [name for name in found if name != base]
    seen = family(np.stack([(found[name] - found[base])[members] for name in others], axis=1), clusters)
    report = Report(title, ("trial", "nDCG@10", f"- {base}", "95 % interval", "corrected", "wins/ties/losses"))
    report.row(base, float(np.nanmean(found[base][members])), None, None, None, None)
    for place, name in enumerate(others):
        alone = f"[{seen.low[place]:+.3f}, {seen.high[place]:+.3f}]"
        together = f"[{seen.corrected_low[place]:+.3f}, {seen.corrected_high[place]:+.3f}]"
        counts = f"{seen.wins[place]}/{seen.ties[place]}/{seen.losses[place]}"
        report.row(name, float(np.nanmean(found[name][members])), f"{seen.mean[place]:+.4f}", alone, together, counts)
    report.note(f"{members.sum()} questions ({part}) in {len(set(clusters.tolist()))} clusters.")
    report.show()
    return {name: float(seen.mean[place]) for place, name in enumerate(others)}


@needs_data
def test_conversations_of_mtrag(bench: Path) -> None:
    done, store = swept("conversations")
    found = means(done, "ndcg@10")
    report = Report("mtrag-human-179, BM25, nDCG@10", ("queries", "Assay", "reference"))
    for name, value in found.items():
        report.row(name, value, REFERENCE.get(name))
    report.show()
    for name, figure in REFERENCE.items():
        assert found[name] == pytest.approx(figure, abs=WITHIN)
    golden, by_trial = columns(done, store)
    later = against("Later turns", golden, by_trial, "last turn", "turns=2+")
    assert int(find_slice(golden, "turns=2+").members.sum()) == 154
    assert found["carry over"] > found["last turn"]
    assert later["carry over"] > 0


AXES = {
    "queries": {"last turn": "queries=last_turn", "all turns": "queries=concatenate", "carry over": "queries=carry_over"},
}


@pytest.mark.parametrize("search", ["index=[bm25s] fusion=single", "index=[bm25s,dense] fusion=rrf"])
@pytest.mark.parametrize("split", ["tune", "holdout"])
def test_follow_ups_of_the_handbook(bench: Path, search: str, split: str) -> None:
    fixed = [*search.split(), "generator=none", "latency=0", "metrics=[ndcg@10]"]
    study = declared(bench / "follow-ups.yaml", "What should be searched for?", "handbook", fixed, AXES)
    done, store = swept(study, f"split={split}")
    golden, found = columns(done, store)
    gained = against(f"Handbook, {split}, {search}", golden, found, "last turn", "kind=follow_up")
    assert gained["carry over"] > 0
    alone = ~find_slice(golden, "kind=follow_up").members
    np.testing.assert_array_equal(found["carry over"][alone], found["last turn"][alone])
