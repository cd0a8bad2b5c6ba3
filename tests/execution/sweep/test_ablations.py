"""What a trial's answers owe to its contexts, on a set that is small enough to know."""

import math
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_set import write_experiment, write_golden

from rag.config.experiment import ad_hoc, load
from rag.config.validation import OF_READING
from rag.core.errors import ConfigError, StoreError
from rag.core.types import Example, Query
from rag.evaluation.scoring import Scores
from rag.execution.graph.engine import Outcome
from rag.execution.graph.executors import Listener, Watch
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, sweep, trial_scores
from rag.execution.sweep.ablations import RETRIEVED, Controlled
from rag.execution.sweep.holdout import Conclusion
from rag.reporting.terminal.recommendation import controls, failed_controls

FIXED = ("dataset=native", "embedder=hashing", "embedder.dimensions=64", "latency=0", "chunker=fixed", "chunker.size=60")


@pytest.fixture
def prepare(here: Path, golden: Path) -> Callable[..., sweep.Prepared]:
    def made(*overrides: str) -> sweep.Prepared:
        ready = sweep.prepare(ad_hoc([*FIXED, f"dataset.path={golden}", *overrides]))
        return replace(ready, plan=replace(ready.plan, experiment=replace(ready.plan.experiment, controls=True)))

    return made


@pytest.fixture(scope="module")
def swept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of a trial with answers; its controls did not run."""
    folder = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        golden = write_golden(folder / "golden")
        ready = sweep.prepare(ad_hoc([*FIXED, f"dataset.path={golden}", "generator=extractive"]))
        sweep.run(ready.plan, ready.store, ready.settings, quiet)
    return folder


@pytest.fixture
def extractive(here: Path, prepare: Any, swept_folder: Path) -> tuple[Plan, Store, Any]:
    """The plan of that trial, and a copy of its store."""
    shutil.copytree(swept_folder / ".rag", here / ".rag")
    return run(prepare("generator=extractive"))


def quiet(key: str, outcome: Outcome | None) -> None:
    """Ignore what runs."""


def watching(listen: Listener = quiet) -> Watch:
    return lambda ahead: nullcontext(listen)


def run(ready: sweep.Prepared) -> tuple[Plan, Store, Any]:
    done = sweep.run(ready.plan, ready.store, ready.settings, quiet)
    assert all(row.status == "done" for row in done.board.rows)
    return ready.plan, ready.store, ready.settings


def test_controls_say_what_the_contexts_are_worth(extractive: Any) -> None:
    made, store, settings = extractive
    found = ablations.measure_ablations(made.trials[0], made, store, settings, watching()).results
    f1 = {row.name: row for row in found if row.column == "token_f1"}
    assert list(f1) == [RETRIEVED, *OF_READING]
    own = trial_scores.read_scores(made.trials[0], made, store).scores.column("token_f1")
    assert f1[RETRIEVED].mean == pytest.approx(np.nanmean(own))
    assert f1["closed_book"].mean == 0
    assert f1["closed_book"].difference == pytest.approx(-f1[RETRIEVED].mean)
    assert f1["gold_contexts"].mean >= f1[RETRIEVED].mean > f1["shuffled_contexts"].mean
    for name in OF_READING:
        assert f1[name].difference == pytest.approx(f1[name].mean - f1[RETRIEVED].mean)
        assert f1[name].low <= f1[name].difference <= f1[name].high
        assert f1[name].n == int((~np.isnan(own)).sum()) == 4  # questions with an answer to compare with
    assert {row.column for row in found} == {"exact_match", "token_f1"}


@pytest.mark.parametrize(
    "overrides",
    [["generator=none"], ["generator=extractive", "metrics=[recall@5]"], ["generator=extractive", "control=closed_book"]],
)
def test_where_there_is_nothing_to_control(prepare: Any, overrides: list[str]) -> None:
    made, store, settings = run(prepare(*overrides))
    assert ablations.measure_ablations(made.trials[0], made, store, settings, watching()) == Controlled()


def test_one_question_is_not_shuffled(prepare: Any, golden: Path) -> None:
    questions = golden / "questions.jsonl"
    questions.write_text(questions.read_text("utf-8").splitlines()[0] + "\n", "utf-8")
    made, store, settings = run(prepare("generator=extractive"))
    found = ablations.measure_ablations(made.trials[0], made, store, settings, watching()).results
    assert {row.name for row in found} == {RETRIEVED, "closed_book", "gold_contexts"}
    assert all(row.low != row.low for row in found)
    assert found[0].to_json()["low"] is None


def test_a_control_that_fails_says_so(extractive: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from rag.execution.graph import ablation_inputs

    made, store, settings = extractive
    monkeypatch.setattr(ablation_inputs, "gold_contexts", lambda *given: 1 / 0)
    found = ablations.measure_ablations(made.trials[0], made, store, settings, watching()).results
    failed = [row for row in found if row.error]
    assert {row.name for row in failed} == {"gold_contexts"}
    assert failed[0].error == "ZeroDivisionError: division by zero"
    assert failed[0].mean != failed[0].mean
    controls(found)
    failed_controls(found)
    output = capsys.readouterr()
    assert "failed" in output.out
    assert "with gold: ZeroDivisionError" in output.err


def test_what_is_nan_is_left_out_and_the_family_is_all_that_is_looked_at() -> None:
    def scores(*values: float) -> Scores:
        return Scores(tuple("abcdef"), ("f",), np.array(values)[:, None], np.zeros(6, np.bool_))

    nan = float("nan")
    own = scores(1, 1, 1, 1, 1, nan)
    others = {"x": scores(0, 0, 0, 0, 1, 1), "y": scores(1, 1, 1, 1, 1, 1), "silent": scores(*[nan] * 6)}
    examples = [Example(Query(name, name)) for name in "abcdef"]
    found = ablations._compared({"none": own, **others}, ["f"], examples)
    assert [(row.name, row.n) for row in found] == [(RETRIEVED, 5), ("x", 5), ("y", 5), ("silent", 0)]
    assert found[1].difference == pytest.approx(-0.8)
    assert found[1].p_adjusted == 0.125  # four signs; a column without differences costs nothing
    both = ablations._compared({"none": own, "x": others["x"], "z": scores(0, 0, 0, 2, 1, nan)}, ["f"], examples)
    assert both[1].p_adjusted == 0.25  # two flips more make of z what x is
    assert (found[2].difference, found[2].p_adjusted) == (0, 1)
    assert all(math.isnan(figure) for figure in (found[3].mean, found[3].difference, found[3].p_adjusted))


def test_a_trial_that_could_not_be_judged_says_why() -> None:
    control = Scores(("a",), ("f",), np.array([[1.0]]), np.zeros(1, np.bool_))
    found = ablations._compared({"none": "the judge is out", "x": control}, ["f"], [Example(Query("a", "a"))])
    assert [(row.name, row.error) for row in found] == [(RETRIEVED, "the judge is out"), ("x", "")]
    assert math.isnan(found[1].difference)


# In a sweep


def test_without_anybody_watching_nothing_runs(extractive: Any) -> None:
    made, store, settings = extractive
    (trial,) = made.trials
    assert ablations.measure_ablations(trial, made, store, settings, None) == Controlled()
    ran = ablations.measure_ablations(trial, made, store, settings, watching())
    assert {row.name for row in ran.results} == {RETRIEVED, *OF_READING}
    assert ablations.measure_ablations(trial, made, store, settings, None) == ran


@pytest.mark.parametrize(
    ("raised", "left"),
    [(KeyboardInterrupt(), Controlled(interrupted=True)), (error := StoreError("a", "b", "c"), Controlled(stopped=error))],
)
def test_what_ends_them_is_reported(extractive: Any, raised: BaseException, left: Controlled) -> None:
    made, store, settings = extractive

    def listen(key: str, outcome: Outcome | None) -> None:
        raise raised

    assert ablations.measure_ablations(made.trials[0], made, store, settings, watching(listen)) == left
    result = Conclusion(controls=left)
    assert (result.interrupted, result.stopped) == (left.interrupted, left.stopped)


@pytest.mark.parametrize("value", ["often", "0", "[closed_book]"])
def test_controls_are_on_or_off(here: Path, golden: Path, value: str) -> None:
    path = write_experiment(here / "wrong.yaml", golden, f"  k: k=1,3\ncontrols: {value}")
    with pytest.raises(ConfigError, match=r"(?s)controls: is .*true or false is needed"):
        load(str(path))
