"""Several answers of a model to each question: asked once each, averaged inside the question, and their spread."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.costly_sweep import QUESTIONS, ask_of, planned, swept, write_study
from support.scripted_server import Exchange, Script, say, serving

from rag.core.errors import ProblemsError
from rag.evaluation.scores import Scores, averaged
from rag.execution.store.store import Store
from rag.execution.sweep import holdout

TIMES = 3
WARM = ", generator.temperature=0.7"


def by_seed(exchange: Exchange) -> None:
    """Right to seeds 0 and 2, and empty-handed to seed 1."""
    say("nine" if exchange.asked["seed"] == 1 else "seven")(exchange)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(by_seed) as server:
        ask_of(server, monkeypatch)
        yield server


def study(folder: Path, fixed: str = WARM, times: int = TIMES, generator: str = "openai") -> Path:
    path = write_study(folder, fixed=fixed, generator=generator)
    path.write_text(f"{path.read_text('utf-8')}repeats: {times}\n", "utf-8")
    return path


def test_each_answer_is_paid_once_and_a_question_has_their_mean(tmp_path: Path, store: Store, script: Script) -> None:
    once, whole = (planned(study(tmp_path), store, f"repeats={times}") for times in (1, TIMES))
    assert whole.estimate.spending.likely.tokens == TIMES * once.estimate.spending.likely.tokens > 0
    first, made = swept(once, store), planned(study(tmp_path), store)
    assert sum(made.stages[key].name == "generate" for key in made.to_run) == TIMES - 1, "the first is there"
    done = swept(made, store)
    assert [sum(body["seed"] == seed for body in script.asked) for seed in range(TIMES)] == [QUESTIONS] * TIMES
    (row,), (single,) = done.board.rows, first.board.rows
    assert row.trial_id != single.trial_id
    assert row.measured["tokens"] == single.measured["tokens"] == QUESTIONS * 34, "the tokens of one answer per question"
    entry = store.read(made.stages[made.trials[0].ends.score].entry)
    assert entry
    column = Scores.from_arrays(entry.arrays).column("exact_match")
    assert np.nanmax(column) == pytest.approx(2 / 3), "right, wrong, right"
    answered = int((~np.isnan(column)).sum())
    assert row.metrics["exact_match"]["within"] == pytest.approx(np.sqrt((2 / 3) / (2 * answered))), "one question varies"
    concluded = holdout.reach(done, store, {"mode": "inline"}, None)
    assert any(re.search(r"answers each question 3 times; .* inside questions: token_f1 \.", note) for note in concluded.notes)
    assert swept(planned(study(tmp_path), store), store).counts()["ran"] == 0


@pytest.mark.parametrize(
    ("fixed", "times", "generator", "problem"),
    [
        ("", 3, "openai", "OpenAiGenerator answers a question alike each time"),
        (WARM, 0, "openai", "repeats: is 0"),
        ("", 2, "extractive", "ExtractiveGenerator answers a question alike each time"),
        ("", 2, "closed_book", "ClosedBookGenerator answers a question alike each time"),
        ("", 2, "none", "NoGenerator answers a question alike each time"),
        (", generator.seed=null", 2, "openai", ""),
        (", generator.generator.temperature=1", 2, "closed_book", ""),
    ],
)
def test_a_generator_that_answers_alike_is_refused(
    tmp_path: Path, store: Store, script: Script, fixed: str, times: int, generator: str, problem: str
) -> None:
    path = study(tmp_path, fixed, times, generator)
    if not problem:
        assert planned(path, store).trials
        return
    with pytest.raises(ProblemsError, match=problem):
        planned(path, store)


def test_the_spread_is_pooled_over_questions_and_what_no_answer_has_is_left_out() -> None:
    values = [[[0.0, 0.2], [1.0, 0.2]], [[1.0, 0.4], [np.nan, 0.4]], [[0.5, 0.3], [np.nan, np.nan]]]
    flags = [[True, True], [True, False], [True, True]]
    tables = [
        Scores(("a", "b"), ("token_f1", "recall@5"), np.array(each), np.array(flag))
        for each, flag in zip(values, flags, strict=True)
    ]
    mean, within = averaged(tables)
    np.testing.assert_allclose(mean.values, [[0.5, 0.3], [1.0, 0.3]])
    assert within == {"token_f1": pytest.approx(0.5)}
    assert mean.failed.tolist() == [True, False]
