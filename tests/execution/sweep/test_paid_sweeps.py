"""Sweeps that ask a model: questions before one that costs money, samples, and trials without a model apart."""

from pathlib import Path

import pytest
from support.command_line import Verb
from support.costly_sweep import answering, ask_of, write_study
from support.scripted_server import answer, say, send, serving

from rag.api import sweeps
from rag.cli.options import BAD_INPUT
from rag.config.experiment import load
from rag.execution.sweep.leaderboard import ranked
from rag.reporting import html
from rag.reporting.html.gather import gather
from rag.tracking import sweep_runs

PRICED = ', "generator.runtime.price={prompt: 1, completion: 2}"'
DECLINES = "I don't know."


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An experiment of six questions and two prompts with a model that has a price."""
    monkeypatch.chdir(tmp_path)
    return str(write_study(tmp_path, "  prompt: prompt=plain,cited", PRICED))


@pytest.mark.parametrize(
    ("step", "said"), [(say(DECLINES), "5 of 5 declined"), (send(401, {"error": {"message": "no such key"}}), "failed")]
)
def test_a_paid_sweep_without_answers_ends_before_it_begins(
    priced: str, step: object, said: str, monkeypatch: pytest.MonkeyPatch, rag: Verb
) -> None:
    with serving(step) as server:
        ask_of(server, monkeypatch)
        ended = rag("sweep", priced, "--no-track")
        assert ended.code == BAD_INPUT
        assert said in ended.err
        assert "no question of plain was answered" in ended.err
        before = len(server.asked)
        assert before <= 10
        rag("sweep", priced, "--no-track", "--yes")
        assert len(server.asked) > before, "--yes goes on"


def test_the_sweep_reuses_the_replies_and_asks_no_model_twice(priced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with serving(answer(lambda question: f"It is {len(question)}.")) as server:
        ask_of(server, monkeypatch)
        ready = sweeps.sweeps.prepare(load(priced, ["sample_seed=2"]))
        sweeps.conduct(ready, sweeps.progress, tell=told.append)
        assert len(server.asked) == 12, "six questions by two prompts"
        assert [each.partition(":")[2] for each in told] == [" all answered."] * 2
        sweeps.conduct(sweeps.sweeps.prepare(load(priced)), sweeps.progress, tell=told.append)
        assert len(told) == 2, "nothing is left to pay for"


def test_a_sample_is_in_plan_board_report_and_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag: Verb) -> None:
    monkeypatch.chdir(tmp_path)
    study = str(write_study(tmp_path, generator="extractive"))
    said = "A sample of 4 of 6 questions, by kind and cluster (sample_seed=0)."
    assert said in " ".join(rag("plan", study, "sample=4").out.split())
    done = sweeps.sweep(study, ["sample=4"], track=False)
    assert said in done.conclusion.notes
    assert said[:-1] in gather(done.sweep.plan, done.store).data.split
    (trial,) = done.sweep.plan.trials
    assert (len(trial.golden.examples), trial.trial.config["sample"]) == (4, 4)
    whole, same = (sweeps.plan(study, more).prepared.trial.trial_id for more in ([], ["sample=6"]))
    assert whole == same != trial.trial_id, "a trial is known by the questions that it is asked"


def test_trials_without_a_model_are_ranked_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terminal, report and MLflow agree: the stand-in is better, and neither first nor recommended."""
    monkeypatch.chdir(tmp_path)
    preset = tmp_path / "conf" / "preset" / "tiny.yaml"
    preset.parent.mkdir(parents=True)
    head = "# @package _global_\n# For tests\ndefaults: [override /generator: openai, _self_]\n"
    preset.write_text(f"{head}stand_ins: [{{key: [ASSAY_KEY], use: [generator=extractive]}}]\n", "utf-8")
    study = write_study(tmp_path, "  system: {modelled: generator=openai, tiny: preset=tiny}")
    study.write_text(study.read_text("utf-8").replace("latency=0, generator=openai", "latency=0"), "utf-8")
    with answering(monkeypatch):
        done = sweeps.sweep(str(study), track=False)
    model, other = done.sweep.board.rows
    assert (model.name, other.name, model.apart, other.apart) == ("modelled", "tiny *", False, True)
    assert other.value("token_f1") > model.value("token_f1")
    assert [rank for rank, _ in ranked(done.sweep.board.rows)] == [1, 1]
    winner = done.conclusion.winner
    assert winner
    assert winner.recommended == model.trial_id
    assert any(note.startswith("Ranked apart") and note.endswith(": tiny *.") for note in done.conclusion.notes)
    sent = {trial.name: trial.tags for trial in sweep_runs.record(done.sweep, done.store, verdict=winner).trials}
    assert sent["tiny *"]["verdict"] == "apart"
    page = html.write(done.sweep.plan, done.store).page.read_text("utf-8")
    assert page.count('<span class="note">ranked apart</span>') == 1
