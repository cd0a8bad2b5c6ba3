"""What a trial's answers owe to its contexts, on a set that is small enough to know."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import controls, results, sweep, terminal
from rag.controls import RETRIEVED, ControlResult
from rag.errors import DataError
from rag.evaluate import Scores
from rag.execute import Outcome
from rag.experiment import ad_hoc
from rag.plan import Plan
from rag.store import Store
from rag.wiring import OF_READING

FIXED = ("dataset=native", "embedder=hashing", "embedder.dimensions=64", "latency=0", "chunker=fixed", "chunker.size=60")


@pytest.fixture
def prepare(here: Path, golden: Path) -> Callable[..., sweep.Prepared]:
    def made(*overrides: str) -> sweep.Prepared:
        return sweep.prepare(ad_hoc([*FIXED, f"dataset.path={golden}", *overrides]))

    return made


def quiet(key: str, outcome: Outcome | None) -> None:
    """Hear nothing."""


def run(ready: sweep.Prepared) -> tuple[Plan, Store, Any]:
    done = sweep.run(ready.plan, ready.store, ready.settings, quiet)
    assert all(row.status == "done" for row in done.board.rows)
    return ready.plan, ready.store, ready.settings


def test_controls_say_what_the_contexts_are_worth(prepare: Any) -> None:
    made, store, settings = run(prepare("generator=extractive"))
    found = controls.of(made.trials[0], made, store, settings, quiet)
    f1 = {row.name: row for row in found if row.column == "token_f1"}
    assert list(f1) == [RETRIEVED, *OF_READING]
    own = results.of(made.trials[0], made, store).scores.column("token_f1")
    assert f1[RETRIEVED].mean == pytest.approx(np.nanmean(own))
    assert f1["closed_book"].mean == 0
    assert f1["closed_book"].difference == pytest.approx(-f1[RETRIEVED].mean)
    assert f1["gold_contexts"].mean >= f1[RETRIEVED].mean > f1["shuffled_contexts"].mean
    for name in OF_READING:
        assert f1[name].difference == pytest.approx(f1[name].mean - f1[RETRIEVED].mean)
        assert f1[name].low <= f1[name].difference <= f1[name].high
        assert f1[name].n == int((~np.isnan(own)).sum()) == 4  # questions with an answer to compare with
    assert {row.column for row in found} == {"exact_match", "token_f1"}


def test_the_second_time_nothing_runs(prepare: Any) -> None:
    made, store, settings = run(prepare("generator=extractive"))
    heard: list[str] = []
    first = controls.of(made.trials[0], made, store, settings, lambda key, outcome: heard.append(key))
    assert heard
    heard.clear()
    assert controls.of(made.trials[0], made, store, settings, lambda key, outcome: heard.append(key)) == first
    assert not heard


@pytest.mark.parametrize(
    "overrides",
    [["generator=none"], ["generator=extractive", "metrics=[recall@5]"], ["generator=extractive", "control=closed_book"]],
)
def test_where_there_is_nothing_to_control(prepare: Any, overrides: list[str]) -> None:
    made, store, settings = run(prepare(*overrides))
    assert controls.of(made.trials[0], made, store, settings, quiet) == ()


def test_one_question_is_not_shuffled(prepare: Any, golden: Path) -> None:
    questions = golden / "questions.jsonl"
    questions.write_text(questions.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    made, store, settings = run(prepare("generator=extractive"))
    found = controls.of(made.trials[0], made, store, settings, quiet)
    assert {row.name for row in found} == {RETRIEVED, "closed_book", "gold_contexts"}
    assert all(row.low != row.low for row in found)
    assert found[0].to_json()["low"] is None


def test_a_trial_that_did_not_run_has_no_controls(prepare: Any) -> None:
    ready = prepare("generator=extractive")
    with pytest.raises(DataError, match="no scores"):
        controls.of(ready.plan.trials[0], ready.plan, ready.store, ready.settings, quiet)


def test_a_control_that_fails_says_so(prepare: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from rag import standins

    made, store, settings = run(prepare("generator=extractive"))
    monkeypatch.setattr(standins, "gold_contexts", lambda *given: 1 / 0)
    found = controls.of(made.trials[0], made, store, settings, quiet)
    failed = [row for row in found if row.error]
    assert {row.name for row in failed} == {"gold_contexts"}
    assert failed[0].error == "ZeroDivisionError: division by zero"
    assert failed[0].mean != failed[0].mean
    terminal.controls(found)
    said = capsys.readouterr()
    assert "failed" in said.out
    assert "gold: ZeroDivisionError" in said.err


def test_what_is_nan_is_left_out_and_the_family_is_all_that_is_looked_at() -> None:
    def scores(*values: float) -> Scores:
        return Scores(tuple("abcdef"), ("f",), np.array(values)[:, None], np.zeros(6, np.bool_))

    nan = float("nan")
    own = scores(1, 1, 1, 1, 1, nan)
    found = controls._compared(own, {"x": scores(0, 0, 0, 0, 1, 1), "y": scores(1, 1, 1, 1, 1, 1)}, ["f"], np.arange(6))
    assert [(row.name, row.n) for row in found] == [(RETRIEVED, 5), ("x", 5), ("y", 5)]
    assert found[1].difference == pytest.approx(-0.8)
    assert found[1].p_holm == pytest.approx(2 * 0.125)  # four signs, two columns
    assert (found[2].difference, found[2].p_holm) == (0, 1)


def test_what_people_see(capsys: Any) -> None:
    rows = (ControlResult(RETRIEVED, "f", 0.5, n=9), ControlResult("closed_book", "f", 0.25, -0.25, -0.5, -0.125, 0.01, 9))
    terminal.controls(rows)
    said = capsys.readouterr().out
    assert "none" in said
    assert "-.250 [-.500, -.125]" in said
