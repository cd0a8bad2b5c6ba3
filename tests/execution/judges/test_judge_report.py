"""Judges in a sweep: their cards, what they could not judge, and where all of that is shown."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.gate_experiment import write_gated, write_many
from support.judge_texts import CONTEXTS, SUPPORTED, UNSUPPORTED

from rag.config.experiment import load
from rag.core.figures import figure
from rag.execution.judges.judge_report import assessors
from rag.execution.store import maintenance
from rag.execution.store.store import Store
from rag.execution.sweep import ablations, holdout, sweep
from rag.reporting import html
from rag.reporting.html.judge_trust import judges
from rag.reporting.html.page import board
from rag.tracking import sweep_runs

rag = pytest.fixture(verb)
WORDS = ("~judge.encoder.runtime", "judge.encoder._target_=support.judge_texts.WordEncoder")
COLUMNS = "metrics=[ndcg@10,faithfulness,answer_relevance,context_relevance,citation_support,citation_support_precision]"
SPEECHLESS = ("judge=llm", "~judge.generator", "+judge.generator._target_=support.judge_texts.SayingNothing")
GATE = 'gate: {metrics: {faithfulness: 0.03}, bounds: ["failed == 0", "citation_support >= 0.5"]}\n'
AXES = """\
  size:
    narrow: chunker=fixed chunker.size=120
    wide: chunker=fixed chunker.size=600"""


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))


@pytest.fixture
def labels(here: Path) -> str:
    rows = [{"text": text, "contexts": list(CONTEXTS), "supported": True} for text in SUPPORTED]
    rows += [{"text": text, "contexts": list(CONTEXTS), "supported": False} for text in UNSUPPORTED]
    Path("people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return "data=people.jsonl"


def written(here: Path, *fixed: str, gate: str = GATE) -> str:
    write_many(here / "golden", 10)
    more = ", ".join(["", "generator=extractive", *(f'"{part}"' for part in fixed)])
    write_gated(here / "study.yaml", Path("golden"), AXES, gate, more)
    return "study.yaml"


@pytest.fixture(scope="module")
def swept_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study that a judge read the answers of, its store, its reports and its baseline."""
    folder = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
        done, store = swept(written(folder, *WORDS, COLUMNS))
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


def test_a_card_is_found_by_the_judge_that_it_was_made_for(study: str, labels: str, rag: Verb) -> None:
    done, store = swept(study)
    (judge,) = assessors(done.plan, store)
    assert (judge.name, judge.cards, judge.failed) == ("LocalJudge", (), 0)
    assert judge.columns == tuple(COLUMNS.removeprefix("metrics=[").removesuffix("]").split(",")[1:])
    assert len(judge.trials) == 2
    assert judge.asked > 2 * 20
    assert judge.remarks == ["LocalJudge has no calibration card: its agreement with people is unknown"]
    assert judge.corrected == ()
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    (card,) = assessors(done.plan, store)[0].cards
    assert (card.data, card.texts) == ("people", len(SUPPORTED) + len(UNSUPPORTED))
    assert assessors(done.plan, store)[0].remarks == [f"LocalJudge {remark}" for remark in card.remarks]


def test_means_carry_the_error_that_the_labels_show(study: str, labels: str, rag: Verb) -> None:
    done, store = swept(study)
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    (judge,) = assessors(done.plan, store)
    (card,) = judge.cards
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
    assert listing is not None
    assert judge.corrected[0].sentence in listing.sentence
    shown = " ".join(rag("sweep", study, "--no-track").out.split())
    assert judge.corrected[0].sentence in shown


def test_a_card_of_other_texts_than_answers_warns(study: str, labels: str, rag: Verb) -> None:
    rows = [json.loads(line) | {"kind": "claim"} for line in Path("people.jsonl").read_text("utf-8").splitlines()]
    Path("people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done, store = swept(study)
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    (judge,) = assessors(done.plan, store)
    warning = "LocalJudge was measured on texts of kind claim, not on answers: on these it may err more"
    assert warning in judge.remarks
    assert judge.corrected == ()
    listing = judges(done.plan, store, done.plan.trials[0])
    assert listing is not None
    assert warning in listing.sentence
    assert warning in " ".join(rag("sweep", study, "--no-track").out.split())


def test_mlflow_is_given_the_judge(study: str, labels: str, rag: Verb) -> None:
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    done, store = swept(study)
    for trial in sweep_runs.record(done, store).trials:
        result = json.loads(trial.files["judge.json"])
        assert trial.tags["judge"] == result["judge"] == "LocalJudge"
        assert trial.tags["judge.auc.people"].startswith(f"{figure(result['cards'][0]['auc']['value'])} [")
        assert trial.metrics["faithfulness"] > 0.9
        assert trial.metrics["judge_failures"] == 0


def test_a_report_has_a_section_on_judges_and_all_columns(here: Path, labels: str, rag: Verb) -> None:
    others = "faithfulness,citation_precision,citation_recall,citation_support,abstention,answered,declined,recall@5"
    study = written(here, *WORDS, f"metrics=[ndcg@10,{others}]")
    done, store = swept(study)
    sweep.write(done)
    listing = judges(done.plan, store, done.plan.trials[0])
    assert listing is not None
    assert [line[2] for line in listing.lines] == ["none"]
    assert "its agreement with people is unknown" in listing.sentence
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    found = html.gather(done.plan, store)
    assert found.judges is not None
    ((name, cells),) = [(line[0], line[1:]) for line in found.judges.lines]
    assert (name, cells[1]) == ("LocalJudge", f"people (answer), {len(SUPPORTED) + len(UNSUPPORTED)} texts")
    assert board(found).heads[-8:] == tuple(others.split(","))
    assert all(float(cell.rpartition("p ")[2]) > 0 for cell in cells[3:5])
    assert rag("report", study).code == 0
    page = Path("reports/study/index.html").read_text("utf-8")
    assert "How judges agree with people" in page


def test_without_a_card_a_gate_warns_and_with_one_it_fails(study: str, labels: str, rag: Verb) -> None:
    assert rag("baseline", study).code == 0
    worse = ("control=shuffled_contexts",)
    warned = rag("gate", study, *worse, "--json").json
    (row,) = warned["rows"]
    assert (row["column"], row["advisory"]) == ("faithfulness", True)
    assert [bound["advisory"] for bound in warned["bounds"]] == [False, True]
    assert rag("judge", "calibrate", *WORDS, labels).code == 0
    result = rag("gate", study, *worse, "--json").json
    assert [one["advisory"] for one in (*result["rows"], *result["bounds"])] == [False, False, False]
    # Another judge is another matter.
    other = rag("gate", study, "judge.threshold=0.6", "--json").json
    assert [one["advisory"] for one in other["rows"]] == [True]


def test_controls_compare_what_judges_say(study: str) -> None:
    done, store = swept(study)
    trial, quiet = done.plan.trials[0], nullcontext(lambda *_: None)
    found = ablations.measure_ablations(trial, done.plan, store, {"mode": "inline"}, lambda plan: quiet)
    columns = {row.column for row in found.results}
    assert {"faithfulness", "answer_relevance", "context_relevance", "citation_support"} <= columns
    own, shuffled = (next(r for r in found.results if (r.column, r.name) == ("context_relevance", name)) for name in NAMES)
    assert own.mean > shuffled.mean + 0.2


NAMES = (ablations.RETRIEVED, "shuffled_contexts")


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
    assert listing is not None
    assert judge.lost in listing.sentence
    assert listing.lines[0][1] == f"{judge.failed} of {judge.asked}"


def test_what_a_metric_could_not_ask_its_own_model_is_shown_everywhere(here: Path, rag: Verb) -> None:
    own = "metric.ragas_context_recall.generator"
    column = "metrics=[ndcg@10,token_f1,ragas_context_recall]"
    metric = (
        "metric=[ndcg,token_f1,ragas_context_recall]",
        f"~{own}",
        f"+{own}._target_=support.judge_texts.SayingNothing",
        column,
    )
    study = written(here, *metric, gate="gate: {metrics: {ndcg@10: 0.03}}\n")
    _answered(here / "golden" / "questions.jsonl", 12)
    result = rag("sweep", study, "--no-track")
    lost = "ragas_context_recall could not make 8 of 8 judgements: they are in no figure"
    assert lost in " ".join(result.out.split())
    done, store = swept(study)
    assert assessors(done.plan, store) == []
    assert [row.measured["judge_failures"] for row in done.board.rows] == [4, 4]
    assert done.board.rows[0].metrics["ragas_context_recall"]["n"] == 0
    listing = judges(done.plan, store, done.plan.trials[0])
    assert listing is not None
    assert lost in listing.sentence
    assert [line[:2] for line in listing.lines] == [("ragas_context_recall", "8 of 8")]
    assert rag("baseline", study).code == 0
    assert lost in rag("gate", study, "chunker.overlap=1", "--json").json["sentence"]


def _answered(path: Path, count: int) -> None:
    """Give the first questions a reference answer."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    result = (row | ({"answers": ["It costs ten crowns."]} if number < count else {}) for number, row in enumerate(rows))
    path.write_text("".join(json.dumps(row) + "\n" for row in result), "utf-8")


def test_a_judge_reads_nothing_where_no_metric_needs_it(study: str) -> None:
    done, store = swept(study, "metrics=[ndcg@10,token_f1]")
    assert assessors(done.plan, store) == []
    assert judges(done.plan, store, done.plan.trials[0]) is None
    assert all("judge_tokens" not in row.measured for row in done.board.rows)


def test_an_empty_store_has_no_cards(here: Path) -> None:
    from rag.execution.judges.calibration import cards

    assert cards(maintenance.at(".rag/store"), "x") == []


def test_trials_are_compared_by_what_judges_say(study: str, rag: Verb) -> None:
    ids = [trial["trial"] for trial in json.loads(Path("reports/study/leaderboard.json").read_text("utf-8"))["trials"]]
    result = rag("compare", *ids)
    assert result.code == 0
    for column in ("faithfulness", "answer_relevance", "citation_support"):
        assert column in result.out
