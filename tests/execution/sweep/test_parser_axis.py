"""Parsers and redactors as axes of a sweep: lost gold counts as not found, and trials are compared by question."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_set import write_experiment
from support.town_pages import TOPICS

from rag.analysis import blame
from rag.analysis.compare import comparable, compare
from rag.config.experiment import load
from rag.core.errors import ConfigError
from rag.core.types import spans_of
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.sweep import Sweep
from rag.execution.sweep.trial_scores import read_scores

AXES = """\
  parser: ["+loader.parsers.pages=whole", "+loader.parsers.pages=torn", "+loader.parsers.pages=halved"]
  redactor: ["loader.redactor=none", "loader.redactor=hushed"]"""


@pytest.fixture(scope="module")
def done(town: Path) -> Iterator[tuple[Sweep, Any]]:
    """The sweep of the parsers and redactors, as `rag sweep` runs it."""
    fixed = ', chunker=sentence, chunker.sentences=1, chunker.step=1, fusion=single, "index=[dense]", embedder.dimensions=32'
    fixed += ', k=5, "metrics=[ndcg@10,recall@5,char_recall@5,iou@5]"'
    with contextlib.chdir(town):
        (town / "experiments").mkdir(exist_ok=True)
        path = write_experiment(town / "experiments" / "town.yaml", Path("golden"), AXES, fixed)
        ready = sweep.prepare(load(str(path), [f"store={town / 'store'}"]))
        yield sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None), ready


def rows_of(done: Any, *words: str) -> list[Any]:
    return [row for row in done[0].board.rows if all(word in row.name for word in words)]


def trial_of(done: Any, *words: str) -> Any:
    (row,) = rows_of(done, *words)
    return next(trial for trial in done[0].plan.trials if trial.trial_id == row.trial_id)


def test_a_parser_that_throws_text_away_comes_last(done: Any) -> None:
    board = rows_of(done, "redactor none")
    assert [row.metrics["ndcg@10"]["n"] for row in board] == [100] * 3
    assert "halved" in board[-1].name
    assert board[-1].quotes == {"exact": 60, "parser": 40}
    for column in ("ndcg@10", "recall@5", "char_recall@5", "iou@5"):
        means = [row.metrics[column]["mean"] for row in board]
        assert means[-1] < min(means[:-1]) - 0.005, column
    # The mean over the questions whose gold survives would rank it first, and by far.
    surviving = {row.name: naive(done, row.trial_id, "ndcg@10") for row in board}
    assert max(surviving, key=surviving.__getitem__) == board[-1].name
    assert surviving[board[-1].name] == pytest.approx(0.422, abs=0.001)
    assert board[-1].metrics["ndcg@10"]["mean"] == pytest.approx(0.253, abs=0.001)
    assert board[0].metrics["ndcg@10"]["mean"] == pytest.approx(0.330, abs=0.001)


def naive(done: Any, trial_id: str, column: str) -> float:
    """The mean over questions with gold in the text, as a harness reckons that drops the others."""
    trial = next(trial for trial in done[0].plan.trials if trial.trial_id == trial_id)
    scores = read_scores(trial, done[1].plan, done[1].store).scores
    kept = [all(spans_of(place) for group in each.evidence for place in group.alternatives) for each in trial.golden.examples]
    return float(np.mean(scores.column(column)[kept]))


def test_equal_results_of_two_parsers_are_two_trials(done: Any) -> None:
    ids = [trial.trial_id for trial in done[0].plan.trials]
    assert len(set(ids)) == len(ids) == 6
    torn = trial_of(done, "torn", "none"), trial_of(done, "torn", "hushed")
    assert torn[0].golden.golden_digest == torn[1].golden.golden_digest  # capitals hide the addresses from this redactor
    assert torn[0].ends.score == torn[1].ends.score


def test_the_same_questions_are_compared_in_pairs(done: Any) -> None:
    goldens = [trial.golden for trial in done[0].plan.trials]
    assert len({golden.asked_digest for golden in goldens}) == 1
    assert len({golden.corpus_digest for golden in goldens}) == 5
    concluded = holdout.reach(done[0], done[1].store, done[1].settings, None)
    assert len(concluded.winner.standings) == 6
    assert not any("halved" in standing.name for standing in concluded.winner.standings if standing.tied)
    assert {effect.axis for effect in concluded.effects.effects} == {"parser", "redactor"}
    one, other = (read_scores(trial_of(done, parser, "none"), done[1].plan, done[1].store) for parser in ("whole", "halved"))
    with pytest.raises(ConfigError, match="--bridge corpus") as refused:
        comparable(one, other)
    assert "--bridge questions" not in str(refused.value)
    table = compare(one, [other], trial_of(done, "whole", "none").golden, ["recall@5"], (), ("corpus",))
    assert [(row.n, round(row.difference, 3)) for row in table.rows] == [(100, -0.1)]
    assert (table.added, table.removed, table.changed) == ((), (), ())


def test_blame_names_the_parser_and_the_redaction(done: Any) -> None:
    reader = blame.Reader(done[1].plan, done[1].store)

    def named(*words: str) -> dict[str, str]:
        found = blame.lost_questions(trial_of(done, *words), done[1].plan, done[1].store, reader=reader)
        return {each.query_id: each.stage for each in found if each.stage.startswith("lost by")}

    numbers = {f"{topic}-{number}": number for topic in TOPICS for number in range(0, 20, 2)}
    gone = {query_id for query_id, number in numbers.items() if number >= 11}
    hushed = {query_id for query_id, number in numbers.items() if number % 4 == 0}
    assert named("whole", "none") == {}
    assert named("halved", "none") == dict.fromkeys(gone, "lost by the parser")
    assert named("whole", "hushed") == dict.fromkeys(hushed, "lost by redaction")
    assert named("halved", "hushed") == dict.fromkeys(hushed - gone, "lost by redaction") | dict.fromkeys(
        gone, "lost by the parser"
    )
