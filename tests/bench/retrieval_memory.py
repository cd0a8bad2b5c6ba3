"""What `reuse=similar` saves and loses where every question comes after the most similar other question of its golden set.

    python tests/bench/retrieval_memory.py handbook tramway

A conversation of two questions that nearly ask the same is the hardest case for a memory: most neighbours have other gold.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[1]))

from rag.components.reuse.similar import SimilarReuse
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.core.arrays import Flags
from rag.core.rankings import Rankings, stacked
from rag.evaluation.scoring import Gold, gold_table, judge
from rag.execution.graph import plan
from rag.execution.store import maintenance
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.search.steps import embed_queries

K = 5


def measured(dataset: str) -> None:
    """Print a row for each pair of thresholds, with and without the guard."""
    config = config_of([*dataset.split(), "generator=none", "reuse=similar", f"k={K}", "latency=0"])
    pipeline = open_config(config)
    golden = (
        plan.assemble(Experiment("memory", "", ()), [Trial("", {}, config)], maintenance.at(config["store"])).trials[0].golden
    )
    asked = [example for example in golden.examples if example.has_gold]
    queries = [replace(example.query, history=()) for example in asked]
    fresh = pipeline.traces(queries)
    gold = gold_table(pipeline.corpus, asked)
    vectors = embed_queries(pipeline.embedder, [trace.sought.question for trace in fresh])
    cosines = vectors @ vectors.T - 2 * np.eye(len(vectors))
    nearest = cosines.argmax(axis=1)
    later = [
        replace(query, earlier=pipeline.earlier(queries[at], fresh[at])) for query, at in zip(queries, nearest, strict=True)
    ]
    known = found([trace.selected.first(K) for trace in fresh], gold)
    for full in (0.8, 0.85, 0.9, 0.95):
        for guard in (True, False):
            memory = replace(pipeline.reuse, full=full, half=min(0.7, full), guard=guard)
            assert isinstance(memory, SimilarReuse)
            traces = replace(pipeline, reuse=memory).traces(later)
            acts = [trace.look.steps[-1].act if trace.look else "" for trace in traces]
            now = found([trace.selected.first(K) for trace in traces], gold)
            for act in ("reuse", "merge"):
                rows = [row for row, one in enumerate(acts) if one == act]
                stale = used = 0
                for row in rows:
                    mine, new = ([place for place, _ in each[row].selected.first(K).row(0)] for each in (traces, fresh))
                    reused = set(mine) - (set() if act == "reuse" else set(new[: (K + 1) // 2]))
                    used, stale = used + len(reused), stale + len(reused - set(new))
                lost, won = sum(known[row] and not now[row] for row in rows), sum(now[row] and not known[row] for row in rows)
                low, high = binomtest(stale, used).proportion_ci(method="wilson") if used else (0, 0)
                share = f"stale {stale}/{used} [{low:.2f}, {high:.2f}]"
                gold_in = sum(known[row] for row in rows)
                counts = f"{len(rows)}/{len(asked)} questions, {share}, lost {lost}, won {won}, of {gold_in} with gold in {K}"
                print(f"full={full} guard={guard} {act}: {counts}")  # noqa: T201


def found(heads: Sequence[Rankings], gold: Gold) -> Flags:
    """The questions with all their gold in a ranking."""
    return (judge(stacked(heads), gold).group_ranks != 0).all(axis=1)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measured(f"dataset={name}" if "=" not in name else name)
