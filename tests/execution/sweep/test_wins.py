"""Where each choice of an axis wins: closed-form standings, and those of a sweep against its leaderboard."""

from pathlib import Path

import numpy as np
import pytest

from rag.config.experiment import load
from rag.core.errors import ConfigError
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.wins import Compared, standings

N = 40
CLUSTER = np.arange(N)
NONE, ALL = np.zeros(N), np.ones(N)


def compared(column: str, *rows: np.ndarray) -> Compared:
    return Compared(column, "", np.stack(rows))


def test_best_alone_among_the_best_and_nowhere() -> None:
    half = np.where(CLUSTER % 2, 1.0, 0.0)
    places = [compared("recall@5", ALL, half, NONE), compared("hit@5", ALL, ALL, NONE), compared("mrr@5", half, half, half)]
    found = standings("system", {"a": {"tokens": 1200.0}, "b": {}, "c": {}}, places, CLUSTER)
    a, b, c = found.standings
    assert (found.tested, found.places, found.equal) == (9, 3, 1)
    assert [(place.column, place.mean, place.rival, place.lead) for place in a.alone] == [("recall@5", 1.0, "b", 0.5)]
    assert 0 < a.alone[0].low < 0.5 < a.alone[0].high <= 1
    assert [[place.column for place in each.among] for each in (a, b, c)] == [["hit@5"], ["hit@5"], []]
    assert a.sentence.startswith("a: best in recall@5 1.000, +.500 [")
    assert a.sentence.endswith("before b; among the best in hit@5. It takes 1,200 tokens for answers.")
    assert c.sentence.startswith("c: wins nowhere")


def test_fewer_attacks_that_succeed_are_better() -> None:
    (a, b) = standings("system", {"a": {}, "b": {}}, [compared("attack_success", ALL, NONE)], CLUSTER).standings
    assert not a.alone
    assert [(place.mean, place.rival, place.lead) for place in b.alone] == [(0.0, "a", 1.0)]


def test_what_noise_makes_no_one_wins() -> None:
    draws = np.random.default_rng(7).integers(0, 2, (6, 40, N)).astype(float)
    found = standings("x", {name: {} for name in "abcdef"}, [compared(f"m{at}", *draws[:, at]) for at in range(40)], CLUSTER)
    assert found.equal == found.places == 40
    assert all(each.sentence.startswith(f"{each.choice}: is not told apart") for each in found.standings)


def test_a_sweep_says_where_each_choice_wins(here: Path, golden: Path) -> None:
    Path("study.yaml").write_text(
        "question: q\ndataset: native\nsplit: all\nobjective: maximize hit@5\n"
        "axes: {reader: {quotes: generator=extractive, silent: generator=none}}\n"
        f"fixed: [dataset.path={golden}, embedder=hashing, latency=0, 'metrics=[hit@5,token_f1]']\nwins: {{axis: reader}}\n",
        "utf-8",
    )
    ready = sweep.prepare(load("study.yaml"))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    wins = holdout.reach(done, ready.store, ready.settings, None).to_json()["wins"]
    assert [each["choice"] for each in wins["standings"]] == ["quotes", "silent"]
    assert wins["equal"] == wins["places"]  # both search alike, and only one of them has answers to score
    Path("study.yaml").write_text("question: q\naxes: {k: 'k=1,2'}\nwins: {axis: reader}\n", "utf-8")
    with pytest.raises(ConfigError, match="axis"):
        load("study.yaml")
