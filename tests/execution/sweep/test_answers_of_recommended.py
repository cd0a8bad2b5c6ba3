"""Metrics of answers that are measured of the recommended trial alone: who is judged, and where the figures are shown."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.gate_experiment import AXES, write_gated, write_many
from support.judge_texts import OF_WORDS

from rag.config.experiment import load
from rag.config.validation import OF_READING
from rag.core.errors import ConfigError
from rag.execution.graph.executors import Outcome
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, holdout, sweep
from rag.execution.sweep.ablations import RETRIEVED
from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.sweep import Sweep
from rag.reporting import html
from rag.tracking import sweep_runs

ANSWERS = "answers: [faithfulness, evidence_cited]\n"
QUESTIONS = 20
"""All of ten documents."""


def write(folder: Path, more: str = ANSWERS, fixed: tuple[str, ...] = OF_WORDS) -> str:
    """Write an experiment of two trials; `more` are keys of it, `fixed` overrides."""
    write_many(folder / "golden", 10)
    held = "".join(f', "{part}"' for part in ("generator=extractive", "metrics=[ndcg@10,token_f1]", *fixed))
    write_gated(folder / "study.yaml", Path("golden"), AXES, more, held)
    return "study.yaml"


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the experiment ran."""
    folder = tmp_path_factory.mktemp("ran")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
        ready = sweep.prepare(load(write(folder)))
        conclude(sweep.run(ready.plan, ready.store, ready.settings, quiet), ready.store, ready.settings)
    return folder


@pytest.fixture
def there(ran: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Sweep, Store, Conclusion]:
    """What the sweep left in the store, and what follows from it; the test works in its folder, and nothing runs."""
    monkeypatch.chdir(ran)
    ready = sweep.prepare(load("study.yaml"))
    done = sweep_runs.recall(ready.plan, ready.store)
    return done, ready.store, holdout.reach(done, ready.store, ready.settings, None)


def conclude(done: Sweep, store: Store, settings: Any) -> Conclusion:
    return holdout.reach(done, store, settings, lambda made: contextlib.nullcontext(quiet))


def quiet(key: str, outcome: Outcome | None) -> None:
    """Hear nothing."""


def rows_of(result: Conclusion) -> dict[tuple[str, str], Any]:
    return {(row["name"], row["column"]): row for row in result.to_json()["controls"]}


def test_the_recommended_trial_and_its_controls_are_judged_and_no_other(there: tuple[Sweep, Store, Conclusion]) -> None:
    done, store, result = there
    assert all(set(row.metrics) == {"ndcg@10", "token_f1"} for row in done.board.rows)
    rows = rows_of(result)
    assert list(rows) == [(n, c) for c in ("token_f1", "faithfulness", "evidence_cited") for n in (RETRIEVED, *OF_READING)]
    own = rows[RETRIEVED, "faithfulness"]
    assert (own["mean"], own["n"], own["difference"]) == (1.0, QUESTIONS, None)  # quoted sentences
    assert 0 < own["mean_low"] < own["mean_high"] == 1.0  # few questions: Wilson's interval is wide
    assert (rows["closed_book", "faithfulness"]["mean"], rows["closed_book", "faithfulness"]["n"]) == (None, 0)
    assert rows["gold_contexts", "evidence_cited"]["mean"] > rows["closed_book", "evidence_cited"]["mean"] == 0
    (judge,) = result.to_json()["judges"]
    assert (judge["judge"], judge["columns"], judge["failed"]) == ("LocalJudge", ["faithfulness"], 0)
    assert judge["remarks"][0].startswith("LocalJudge has no calibration card")
    assert result.controls.plan
    assert all(trial.ends.assess is None for trial in done.plan.trials)
    judged = {trial.ends.assess for trial in result.controls.plan.trials}
    stored = [key for key in store.keys("stages") if "assessments" in (store.read_meta(key) or {})]
    assert len(stored) == len(judged) == len(OF_READING) + 1
    entries = [store.read_meta(result.controls.plan.stages[key].entry) or {} for key in judged if key]
    assert judge["asked"] == sum(entry["asked"] for entry in entries) >= QUESTIONS


def test_a_terminal_json_and_a_report_show_it(there: tuple[Sweep, Store, Conclusion], rag: Verb) -> None:
    done, store, result = there
    planned = " ".join(rag("plan", "study.yaml").out.split())
    assert "Its answers alone are measured by faithfulness, evidence_cited." in planned
    shown = " ".join(rag("sweep", "study.yaml", "--no-track").out.split())
    own = rows_of(result)[RETRIEVED, "faithfulness"]
    brackets = f"1.000 [{own['mean_low']:.3f}, 1.000]".replace("[0.", "[.")
    assert f"faithfulness {QUESTIONS} {brackets}" in shown
    assert f"evidence_cited {QUESTIONS} " in shown
    assert shown.count("LocalJudge has no calibration card") == 1
    output = rag("sweep", "study.yaml", "--no-track", "--json").json
    assert output["stages"]["ran"] == 0
    written = json.loads(Path("reports/study/verdict.json").read_text("utf-8"))
    for key in ("controls", "judges"):
        assert output[key] == written[key] == result.to_json()[key]
    page = html.gather(done.plan, store)
    assert page.controls.columns == ("token_f1", "faithfulness", "evidence_cited")
    assert page.controls.lines[0][2] == brackets
    assert [line[0] for line in page.judges.lines] == ["LocalJudge"]


def test_mlflow_gets_it_on_the_run_of_the_trial_and_on_the_parent(there: tuple[Sweep, Store, Conclusion]) -> None:
    done, store, result = there
    assert result.winner
    sent = sweep_runs.record(done, store, result.controls)
    plain = {trial.trial_id: trial for trial in sweep_runs.record(done, store).trials}
    for trial in sent.trials:
        before = plain[trial.trial_id]
        if trial.trial_id != result.winner.recommended:
            assert trial == before
            continue
        assert trial.metrics["faithfulness"] == trial.metrics["faithfulness_high"] == 1.0
        assert 0 < trial.metrics["faithfulness_low"] < 1
        assert before.metrics.items() <= trial.metrics.items()
        assert (trial.config, trial.params, trial.name) == (before.config, before.params, before.name)
        assert trial.tags["judge"] == "LocalJudge"
        assert before.tags.items() <= trial.tags.items()
        assert json.loads(trial.files["judge.json"])["asked"] >= QUESTIONS
        columns = json.loads(trial.files["questions.json"])["columns"]
        assert {"faithfulness", "evidence_cited"} <= set(columns)
    assert sent.metrics["faithfulness"] == 1.0
    assert "faithfulness" not in sweep_runs.record(done, store).metrics


@pytest.mark.parametrize(
    ("more", "overrides", "columns", "names"),
    [
        (f"{ANSWERS}controls: false\n", [], ["token_f1", "faithfulness", "evidence_cited"], [RETRIEVED]),
        ("controls: true\n", [], ["token_f1"], [RETRIEVED, *OF_READING]),
        (ANSWERS, ["generator=none", "metrics=[ndcg@10]"], [], []),
    ],
)
def test_what_is_measured_is_what_was_declared(
    here: Path, more: str, overrides: list[str], columns: list[str], names: list[str]
) -> None:
    ready = sweep.prepare(load(write(here, more), overrides))
    done = sweep.run(ready.plan, ready.store, ready.settings, quiet)
    trial = done.plan.trials[0]
    found = ablations.measure_ablations(
        trial, ready.plan, ready.store, ready.settings, lambda made: contextlib.nullcontext(quiet)
    )
    assert [(row.name, row.column) for row in found.results] == [(name, column) for column in columns for name in names]
    assert [judge.columns for judge in found.judges] == ([("faithfulness",)] if "faithfulness" in columns else [])


def test_a_key_that_is_no_list_and_a_metric_that_is_none_are_refused_before_anything_runs(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?s)answers: is 'faithfulness'.* a list is needed"):
        load(write(here, "answers: faithfulness\n"))
    text = (here / "study.yaml").read_text("utf-8")
    (here / "study.yaml").write_text(text.replace("answers: faithfulness", "answers: [faithfullness]"), "utf-8")
    with pytest.raises(ConfigError, match=r"(?s)names no metric .*faithfulness"):
        sweep.prepare(load("study.yaml"))


@pytest.mark.parametrize(
    ("answers", "output"),
    [
        ("recall@5", "answers: 'recall@5' measures rankings, which all trials are measured by"),
        ("recall", "measures rankings and has no cut-off"),
        ("faithfulness@5", "measures answers, which have no ranks"),
    ],
)
def test_what_measures_no_answer_is_refused(there: tuple[Sweep, Store, Conclusion], answers: str, output: str) -> None:
    made = there[0].plan
    with pytest.raises(ConfigError, match=output):
        ablations.check(replace(made, experiment=replace(made.experiment, answers=(answers,))))
