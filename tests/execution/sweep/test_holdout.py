"""From a sweep on tune to what it says to do, with a holdout that chose nothing."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.small_set import AXES, QUESTIONS, write_experiment, write_golden

from rag.config.experiment import load
from rag.core.errors import DataError
from rag.core.figures import figure
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener, Watch
from rag.execution.graph.plan import Plan
from rag.execution.store import holdout_log
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, other_sweeps, selection, sweep
from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.sweep import Sweep

pytestmark = pytest.mark.usefixtures("here")

SEARCHES = '  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single", "index=[bm25s,dense]"]'
CHUNKS = '  chunker: ["chunker=fixed chunker.size=12", chunker=whole]'


def study(folder: Path, axes: str = AXES, more: str = "", fixed: str = "") -> Path:
    """An experiment that tunes, with a holdout, and lines of its own."""
    golden = folder / "golden"
    path = write_experiment(folder / "study.yaml", golden if golden.exists() else write_golden(golden), axes, fixed)
    path.write_text(path.read_text("utf-8").replace("split: all\n", "split: tune\n") + more, "utf-8")
    return path


def run(path: Path, *overrides: str, mode: str = "inline", watch: Watch | None = None) -> tuple[Sweep, Conclusion]:
    store = Store(str(path.parent / "store"))
    settings = {"mode": mode, "workers": 2}
    done = sweep.run(plan.make(load(str(path), overrides), store), store, settings, lambda key, outcome: None)
    return done, holdout.reach(done, store, settings, watch or silent)


@contextmanager
def silent(made: Plan) -> Iterator[Listener]:
    yield lambda key, outcome: None


def test_the_best_are_measured_again_and_a_second_time_nothing_runs(tmp_path: Path) -> None:
    path = study(tmp_path)
    done, concluded = run(path)
    assert {trial.trial.config["split"] for trial in done.plan.trials} == {"tune"}
    assert concluded.winner.holdout
    assert len(concluded.winner.tied) == 18, "three questions tell nothing apart"
    again = [one for one in concluded.winner.standings if one.holdout]
    best = [row.trial_id for row in done.board.rows[:5]]
    assert {one.trial_id for one in again} == {*best, concluded.winner.recommended}
    assert all(trial.trial.config["latency"] == 0 for trial in concluded.again.trials.values())
    goldens, (first, *_) = [each.golden for each in concluded.again.trials.values()], done.plan.trials[0].golden.documents
    assert [(len(each.examples), each.documents[0] is first) for each in goldens] == [(3, True)] * len(goldens), "read once"
    ran = {
        concluded.again.plan.stages[key].name
        for key, outcome in concluded.again.ran.outcomes.items()
        if outcome.status == "ran"
    }
    assert ran
    assert ran & {"chunk", "embed", "index"} == set(), "stages of the corpus are shared with the holdout"
    _, second = run(path)
    assert second.again.plan.to_run == ()
    assert second.to_json() == concluded.to_json()
    assert (concluded.winner.uses, second.winner.uses if second.winner else 0) == (1, 1)


def test_a_sweep_of_the_holdout_itself_is_a_look(tmp_path: Path) -> None:
    done, concluded = run(study(tmp_path, SEARCHES), "split=holdout")
    assert concluded.notes[:1] == ("These questions are the holdout: uses of it so far: 1.",)
    store = Store(str(tmp_path / "store"))
    assert holdout_log.count(store, done.plan.trials[0].golden.golden_digest) == 1


def test_as_many_as_are_asked_for_are_measured_again(tmp_path: Path) -> None:
    assert run(study(tmp_path, SEARCHES, "holdout: 0\n"))[1].again is None
    assert len(run(study(tmp_path, SEARCHES, "holdout: 2\n"))[1].again.trials) in (2, 3)
    _, concluded = run(study(tmp_path, SEARCHES), "split=all")
    assert (concluded.again, concluded.winner.holdout, concluded.winner.uses) == (None, False, 0)
    assert not any("holdout" in note for note in concluded.notes)


def test_trials_of_other_sweeps_over_the_same_questions_are_found(tmp_path: Path) -> None:
    path, store = study(tmp_path, SEARCHES), Store(str(tmp_path / "store"))

    def others(*overrides: str) -> list[int]:
        done, _ = run(path, *overrides)
        found = [*other_sweeps.values(done.plan, store, done.board.objective)]
        return [len(found), *{len(each) for each in found}]

    assert others("split=all") == [0]
    assert others("split=all") == [0], "the same sweep again is no other one"
    assert others("split=all", "chunker=fixed", "chunker.size=60") == [2, 6], "two of the three score alike"
    logged = store.keys("scored")
    run(path, "split=all", "control=perfect_chunker")
    assert store.keys("scored") == logged, "a control is no trial"
    assert others("split=all", "coverage=0.9") == [0], "scores that were measured in another way"
    assert others("split=holdout") == [0]
    for key in store.keys("stages"):
        store.remove(key)
    assert others("split=all") == [0], "scores that were removed"


def test_without_a_holdout_it_says_so_and_goes_on(tmp_path: Path) -> None:
    path = study(tmp_path, SEARCHES)
    questions = tmp_path / "golden" / "questions.jsonl"
    questions.write_text(questions.read_text("utf-8").replace('"holdout"', '"tune"'), "utf-8")
    done, concluded = run(path)
    assert len(done.plan.trials[0].golden.examples) == len(QUESTIONS)
    assert concluded.winner is not None
    assert "has no holdout" in concluded.notes[0]


def test_trials_that_break_a_bound_stand_behind(tmp_path: Path) -> None:
    path = study(tmp_path, CHUNKS, "objective: [maximize ndcg@10, char_precision@5 >= 0.2]\n")
    done, concluded = run(path)
    assert [row.name for row in done.board.rows] == ["fixed-12", "whole"]
    assert [row.broken for row in done.board.rows] == [(), ("char_precision@5 >= 0.2",)]
    worth = [row.worth(done.board.objective) for row in done.board.rows]
    assert worth[0] < worth[1], "the bound decides, not the metric"
    assert concluded.winner.recommended == done.board.rows[0].trial_id
    assert [one.admitted for one in concluded.winner.standings] == [True, False]
    assert json.loads(json.dumps(done.board.to_json()))["trials"][1]["broken"] == ["char_precision@5 >= 0.2"]


def test_without_a_trial_that_keeps_the_bounds_there_is_no_winner_and_no_error(rag: Verb, tmp_path: Path) -> None:
    path = study(tmp_path, SEARCHES, "objective: [ndcg@10, judged@10 >= 2]\n")
    note = "No trial keeps judged@10 >= 2: none is recommended."
    done = rag("sweep", str(path), "--no-track", "--json")
    assert done.code == 0
    assert (done.json["winner"], done.json["notes"]) == (None, [note])
    assert done.json["effects"]
    assert done.json["trials"][0]["broken"]
    assert Store(".rag/store").keys("looks") == []
    printed = rag("sweep", str(path), "--no-track").out
    assert "No trial keeps judged@10 >= 2" in printed
    assert "Recommended" not in printed


def test_a_bound_that_the_holdout_breaks_is_reported(tmp_path: Path) -> None:
    done, concluded = run(study(tmp_path, "  k: k=3", "objective: [ndcg@10, precision@5 >= 0.25]\n", ", chunker=whole"))
    row = done.board.rows[0]
    again, _ = run(study(tmp_path, "  k: k=3", "", ", chunker=whole"), "split=holdout")
    assert row.value("precision@5") >= 0.25
    there = again.board.rows[0].value("precision@5")
    assert there < 0.25
    assert concluded.notes[:1] == (
        f"On the holdout {row.name} does not keep precision@5 >= 0.25: it has {figure(there)} there.",
    )


def test_a_sum_of_metrics_is_compared_question_by_question(tmp_path: Path) -> None:
    done, concluded = run(study(tmp_path, SEARCHES, "objective: [maximize 0.5 * recall@5, maximize 0.5 * ndcg@10]\n"))
    row = done.board.rows[0]
    assert row.summed["mean"] == pytest.approx((row.value("recall@5") + row.value("ndcg@10")) / 2)
    assert concluded.winner.of(row.trial_id).tune.mean == row.summed["mean"]


def test_trials_may_measure_different_things(tmp_path: Path) -> None:
    axes = '  metrics: ["metrics=[ndcg@10]", "metrics=[recall@5]"]'
    done, concluded = run(study(tmp_path, axes, "objective: index_bytes\n"))
    assert len(concluded.winner.front) == 2
    assert "not a score of questions" in concluded.winner.why
    _, concluded = run(study(tmp_path, axes, "objective: ndcg@10\n"))
    assert [one.admitted for one in concluded.winner.standings] == [True, False]
    assert {row.status for row in done.board.rows} == {"done"}


def test_a_trial_that_fails_does_not_compete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    break_fusion(monkeypatch, when=lambda questions: True)
    done, concluded = run(study(tmp_path, SEARCHES))
    assert [row.status for row in done.board.rows].count("failed") == 1
    assert len(concluded.winner.tied) == 2
    assert [one.admitted for one in concluded.winner.standings] == [True, True, False]


def test_what_fails_on_the_holdout_is_reported_and_the_rest_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study(tmp_path, SEARCHES)
    calls: list[int] = []

    def second(questions: int) -> bool:
        calls.append(questions)
        return len(calls) > 1

    break_fusion(monkeypatch, when=second)
    done, concluded = run(path)
    assert {row.status for row in done.board.rows} == {"done"}
    assert concluded.failed
    assert "ArithmeticError" in next(iter(concluded.again.errors().values()))
    assert sum(one.holdout is not None for one in concluded.winner.standings) == 2
    assert concluded.notes[:1] == ("On the holdout bm25s+dense failed.",)


def break_fusion(monkeypatch: pytest.MonkeyPatch, when: Any) -> None:
    from rag.components.fusion.rrf import ReciprocalRankFusion

    def fuse(self: Any, rankings: Any, depth: int) -> Any:
        if when(len(next(iter(rankings.values())))):
            raise ArithmeticError("a mistake of its own")
        return real(self, rankings, depth)

    real = ReciprocalRankFusion.fuse
    monkeypatch.setattr(ReciprocalRankFusion, "fuse", fuse)


def test_ctrl_c_on_the_holdout_keeps_what_there_is_and_goes_on(tmp_path: Path) -> None:
    path = study(tmp_path, SEARCHES)

    @contextmanager
    def breaking(made: Plan) -> Iterator[Listener]:
        heard: list[str] = []

        def hear(key: str, outcome: Any) -> None:
            heard.append(key)
            if len(heard) > 12:
                raise KeyboardInterrupt

        yield hear

    _, concluded = run(path, watch=breaking)
    assert concluded.interrupted
    assert "goes on" in concluded.notes[0]
    _, concluded = run(path)
    assert not concluded.interrupted
    assert len(concluded.again.plan.to_run) > 0
    assert concluded.winner.uses == 1
    assert sum(one.holdout is not None for one in concluded.winner.standings) == 3


def test_a_sweep_that_was_broken_off_concludes_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "store"))
    made = plan.make(load(str(study(tmp_path, SEARCHES))), store)

    def stop(key: str, outcome: Any) -> None:
        raise KeyboardInterrupt

    done = sweep.run(made, store, {"mode": "inline"}, stop)
    concluded = holdout.reach(done, store, {"mode": "inline"}, silent)
    assert (concluded.winner, concluded.notes) == (None, (holdout.UNFINISHED,))
    holdout.write(done, concluded, tmp_path / "reports")
    with pytest.raises(DataError, match="did not come to its end"):
        selection.read("study", tmp_path / "reports")


def test_looking_up_runs_nothing(tmp_path: Path) -> None:
    path = study(tmp_path, SEARCHES)
    store = Store(str(tmp_path / "store"))
    done = sweep.run(plan.make(load(str(path)), store), store, {"mode": "inline"}, lambda key, outcome: None)
    concluded = holdout.reach(done, store, {}, None)
    assert (concluded.winner.holdout, concluded.winner.uses) == (False, 0)
    assert "run the sweep again" in concluded.notes[0]
    _, ran = run(path)
    assert holdout.reach(done, store, {}, None).to_json() == ran.to_json()


def test_controls_do_not_compete(tmp_path: Path) -> None:
    path = study(tmp_path, "  control: control=none,perfect_chunker")
    done, concluded = run(path)
    assert concluded.winner.recommended == next(row.trial_id for row in done.board.rows if row.name == "none")
    assert len(concluded.winner.tied) == 1


def test_the_verdict_is_written_and_read_and_the_output_begins_with_what_to_do(rag: Verb, tmp_path: Path) -> None:
    path = study(tmp_path, SEARCHES)
    done = rag("sweep", str(path), "--no-track", "--json")
    assert done.code == 0
    written = json.loads(Path("reports/study/verdict.json").read_text("utf-8"))
    assert written["winner"] == done.json["winner"] == selection.read("study")
    assert written["effects"] == done.json["effects"]
    assert written["winner"]["front"]
    assert written["objective"]["text"] == "maximize ndcg@10"
    printed = rag("sweep", str(path), "--no-track").out
    text = " ".join(printed.split())
    recommended = re.search(r"First so far: (\S+)", text)
    assert recommended
    parts = "On the holdout (3 questions, 1 use so far): ", "Effects: "
    for part in (*parts, "3 trials, "):
        assert part in text
        assert text.index(part) > recommended.start()
    for part in (f"rag study baseline {path}", f"rag report {path}", "rag study compare "):
        assert part in text
    assert printed.count(">") == 2, "one mark in the table, one in its legend"
    with pytest.raises(DataError, match="run rag sweep other first"):
        selection.read("other")
    Path("reports/study/verdict.json").write_text("{", "utf-8")
    with pytest.raises(DataError, match="cannot be read"):
        selection.read("study")


def test_an_exchange_rate_of_an_experiment_decides(tmp_path: Path) -> None:
    """The largest index has the best mean; at a high price of megabytes it is worth least."""
    _, concluded = run(study(tmp_path, SEARCHES, 'recommend: {exchange: "0.9 ndcg@10 = 0.0001 MB"}\n'), "split=all")
    assert concluded.winner.to_json()["rule"] == {"margin": None, "exchange": ["0.9 ndcg@10 = 0.0001 MB"]}
    assert concluded.winner.why.startswith(
        "It is worth most at the given prices. How it does on other questions cannot be known"
    )
    assert concluded.winner.recommended != concluded.winner.best
