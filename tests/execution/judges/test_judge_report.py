"""Judges in a sweep: their cards, what they could not judge, and where all of that is shown."""

import json
import shutil
from pathlib import Path

import pytest
from support.command_line import Verb
from support.gate_experiment import AXES, write_gated, write_many
from support.judge_texts import OF_WORDS, SUPPORTED, UNSUPPORTED

from rag.config.experiment import load
from rag.core.figures import figure
from rag.execution.judges.judge_report import assessors
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.reporting.html.judge_trust import judges

COLUMNS = "metrics=[ndcg@10,faithfulness,answer_relevance,context_relevance,citation_support,citation_support_precision]"
SPEECHLESS = ("judge=llm", "~judge.generator", "+judge.generator._target_=support.judge_texts.SayingNothing")


@pytest.fixture
def labels(small_set: Path) -> str:
    return f"data={small_set}"


def written(here: Path, *fixed: str) -> str:
    write_many(here / "golden", 10)
    more = ", ".join(["", "generator=extractive", *(f'"{part}"' for part in fixed)])
    write_gated(here / "study.yaml", Path("golden"), AXES, "", more)
    return "study.yaml"


@pytest.fixture(scope="module")
def swept_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that a judge read the answers of, its store, its reports and its baseline."""
    folder = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
        done, store = swept(written(folder, *OF_WORDS, COLUMNS))
        sweep.write(done)
        holdout.write(done, holdout.reach(done, store, {"mode": "inline"}, None))
    return folder


@pytest.fixture
def study(here: Path, swept_study: Path) -> str:
    """A study whose answers a judge read."""
    shutil.copytree(swept_study, here, dirs_exist_ok=True)
    return "study.yaml"


def swept(study: str, *overrides: str) -> tuple[sweep.Sweep, Store]:
    ready = sweep.prepare(load(study, list(overrides)))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)
    assert [row.status for row in done.board.rows] == ["done", "done"]
    return done, ready.store


def test_a_card_is_found_by_its_judge_and_means_carry_the_error_that_its_labels_show(
    study: str, labels: str, rag: Verb
) -> None:
    done, store = swept(study)
    (judge,) = assessors(done.plan, store)
    assert (judge.name, judge.cards, judge.failed) == ("LocalJudge", (), 0)
    assert judge.columns == tuple(COLUMNS.removeprefix("metrics=[").removesuffix("]").split(",")[1:])
    assert len(judge.trials) == 2
    assert judge.asked > 2 * 20
    assert judge.remarks == ["LocalJudge has no calibration card for faithfulness: its agreement with people is unknown"]
    assert judge.corrected == ()
    assert rag("judge", "calibrate", *OF_WORDS, labels).code == 0
    (card,) = assessors(done.plan, store)[0].cards
    assert (card.data, card.texts) == ("small", len(SUPPORTED) + len(UNSUPPORTED))
    (judge,) = assessors(done.plan, store)
    assert judge.remarks == [f"LocalJudge {remark}" for remark in card.remarks]
    moved = sum(label - output for output, label, _ in card.pairs) / len(card.pairs)
    rows = {row.name: row.metrics["faithfulness"] for row in done.board.rows}
    assert len(judge.corrected) == 2
    for one in judge.corrected:
        assert one.judge == pytest.approx(rows[one.trial]["mean"])
        assert one.people.value == pytest.approx(one.judge + moved)
        assert one.people.high - one.people.low > rows[one.trial]["high"] - rows[one.trial]["low"]
        assert one.sentence.startswith(
            f"Of {one.answers} answers of {one.trial}, people would call {figure(one.people.value)} ["
        )
    listing = judges(done.plan, store, done.plan.trials[0])
    assert judge.corrected[0].sentence in listing.sentence
    shown = " ".join(rag("sweep", study, "--no-track").out.split())
    assert judge.corrected[0].sentence in shown


def test_a_card_of_other_texts_than_answers_warns(study: str, small_set: Path, labels: str, rag: Verb) -> None:
    rows = [json.loads(line) | {"kind": "claim"} for line in small_set.read_text("utf-8").splitlines()]
    small_set.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done, store = swept(study)
    assert rag("judge", "calibrate", *OF_WORDS, labels).code == 0
    (judge,) = assessors(done.plan, store)
    warning = "LocalJudge was measured on texts of kind claim, not on answers: on these it may err more"
    assert warning in judge.remarks
    assert judge.corrected == ()
    listing = judges(done.plan, store, done.plan.trials[0])
    assert warning in listing.sentence
    assert warning in " ".join(rag("sweep", study, "--no-track").out.split())


def test_what_could_not_be_judged_is_shown_everywhere(here: Path, rag: Verb) -> None:
    study = written(here, *SPEECHLESS, "metrics=[ndcg@10,faithfulness]")
    result = rag("sweep", study, "--no-track")
    done, store = swept(study)
    (judge,) = assessors(done.plan, store)
    assert judge.failed == judge.asked > 0
    assert judge.lost.endswith("judgements: they are in no figure; the first: the reply holds no JSON object")
    assert judge.lost in " ".join(result.out.split())
    row = done.board.rows[0]
    assert row.metrics["faithfulness"]["n"] == 0
    asked = 2 * row.measured["judge_failures"]  # two requests for every claim, and every answer is one claim
    assert 0 < row.measured["judge_tokens"] / 7 <= asked
    assert row.measured["judge_cost_usd"] == pytest.approx(row.measured["judge_tokens"] / 7 * 0.001)
    assert row.measured["cost_usd"] == 0
    listing = judges(done.plan, store, done.plan.trials[0])
    assert judge.lost in listing.sentence
    assert listing.lines[0][1] == f"{judge.failed} of {judge.asked}"


def test_what_a_metric_could_not_ask_its_own_model_is_shown_too(here: Path, rag: Verb) -> None:
    own, column = "metric.ragas_context_recall.generator", "metrics=[ndcg@10,token_f1,ragas_context_recall]"
    silent = (f"~{own}", f"+{own}._target_=support.judge_texts.SayingNothing")
    study, path = written(here, "metric=[ndcg,token_f1,ragas_context_recall]", *silent, column), here / "golden/questions.jsonl"
    rows = [json.loads(line) | {"answers": ["It costs ten crowns."]} for line in path.read_text("utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    lost = "ragas_context_recall could not make 40 of 40 judgements: they are in no figure"
    assert lost in " ".join(rag("sweep", study, "--no-track").out.split())
    done, store = swept(study)
    assert assessors(done.plan, store) == []
    assert [row.measured["judge_failures"] for row in done.board.rows] == [20, 20]
    assert lost in judges(done.plan, store, done.plan.trials[0]).sentence


def test_a_judge_reads_nothing_where_no_metric_needs_it(study: str) -> None:
    done, store = swept(study, "metrics=[ndcg@10,token_f1]")
    assert assessors(done.plan, store) == []
    assert judges(done.plan, store, done.plan.trials[0]) is None
    assert all("judge_tokens" not in row.measured for row in done.board.rows)
