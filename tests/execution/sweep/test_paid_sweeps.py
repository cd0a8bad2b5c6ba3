"""Sweeps that ask a model: questions before one that costs money, samples, and trials without a model apart."""

from pathlib import Path

import pytest
from support.command_line import Verb
from support.costly_sweep import answering, ask_of, write_study
from support.scripted_server import answer, say, send, serving

from rag.api import sweeps
from rag.config.experiment import load
from rag.execution.sweep.leaderboard import ranked
from rag.reporting.html import page
from rag.reporting.html.gather import gather
from rag.tracking import sweep_runs


@pytest.fixture
def priced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An experiment of six questions and two prompts with a model that has a price."""
    monkeypatch.chdir(tmp_path)
    return str(write_study(tmp_path, "  prompt: prompt=plain,cited", ', "generator.runtime.price={prompt: 1, completion: 2}"'))


@pytest.mark.parametrize(
    ("step", "said"), [(say("I don't know."), "5 of 5 declined"), (send(401, {"error": {"message": "no such key"}}), "failed")]
)
def test_a_paid_sweep_without_answers_ends_first(
    priced: str, step: object, said: str, monkeypatch: pytest.MonkeyPatch, rag: Verb
) -> None:
    with serving(step) as server:
        ask_of(server, monkeypatch)
        ended = rag("sweep", priced, "--no-track")
        assert (ended.code, said in ended.err, "no question of plain was answered" in ended.err) == (2, True, True)
        assert (before := len(server.asked)) <= 10
        rag("sweep", priced, "--no-track", "--yes")
        assert len(server.asked) > before, "--yes goes on"


def test_the_sweep_reuses_the_replies(priced: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with serving(answer(lambda question: f"It is {len(question)}.")) as server:
        ask_of(server, monkeypatch)
        for _ in range(2):  # The second time nothing is left to pay for.
            sweeps.conduct(sweeps.sweeps.prepare(load(priced)), sweeps.progress, tell=told.append)
            assert len(server.asked) == 12, "six questions by two prompts"
            assert [each.partition(":")[2] for each in told] == [" all answered."] * 2


def test_a_sample_is_in_plan_board_report_and_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag: Verb) -> None:
    monkeypatch.chdir(tmp_path)
    study, said = str(write_study(tmp_path, generator="extractive")), "A sample of 4 of 6 questions, by kind and cluster"
    assert said in " ".join(rag("plan", study, "sample=4").out.split())
    done = sweeps.sweep(study, ["sample=4"], track=False)
    (trial,) = done.sweep.plan.trials
    assert any(note.startswith(said) for note in done.conclusion.notes)
    assert said in gather(done.sweep.plan, done.store).data.split
    assert len(trial.golden.examples) == trial.trial.config["sample"] == 4
    whole, same = (sweeps.plan(study, more).prepared.trial.trial_id for more in ([], ["sample=6"]))
    assert whole == same != trial.trial_id, "a trial is known by the questions that it is asked"


def test_trials_without_a_model_are_ranked_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf" / "preset").mkdir(parents=True)
    preset = "# @package _global_\nstand_ins: [{key: [ASSAY_KEY], use: [generator=extractive]}]\n"
    (tmp_path / "conf" / "preset" / "tiny.yaml").write_text(preset, "utf-8")
    study = write_study(tmp_path, "  system: {modelled: generator=openai, tiny: preset=tiny}")
    study.write_text(study.read_text("utf-8").replace("latency=0, generator=openai", "latency=0"), "utf-8")
    with answering(monkeypatch):
        done = sweeps.sweep(str(study), track=False)
    model, other = done.sweep.board.rows
    assert (model.name, other.name, [rank for rank, _ in ranked(done.sweep.board.rows)]) == ("modelled", "tiny *", [1, 1])
    assert other.value("token_f1") > model.value("token_f1")
    assert done.recommended == model.trial_id
    assert any(note.startswith("Ranked apart") and note.endswith(": tiny *.") for note in done.conclusion.notes)
    sent = sweep_runs.record(done.sweep, done.store, verdict=done.conclusion.winner).trials
    assert {trial.name: trial.tags["verdict"] for trial in sent} == {"modelled": "first", "tiny *": "apart"}
    shown = page.board(gather(done.sweep.plan, done.store)).lines
    assert [(rank, row.name, row.apart) for rank, row, _ in shown] == [(1, "modelled", False), (1, "tiny *", True)]
