"""Errors of a gate on invalid input: where, what, and what would do."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.command_line import Verb
from support.gate_experiment import AXES, GATE, forge, write_gated

from rag.analysis import baseline
from rag.analysis.gate import spec
from rag.components.chunkers.fixed import FixedChunker
from rag.core.errors import ConfigError, DataError
from rag.core.types import Document, Span

KEPT = Path("reports/baselines/study.json")


def study(gate: str = GATE, axes: str = AXES, fixed: str = "") -> None:
    write_gated(Path("study.yaml"), Path("../golden"), axes=axes, gate=gate, fixed=fixed)


def refused(rag: Verb, *arguments: str) -> str:
    """The error of a gate that refuses to run."""
    said = rag("gate", "study.yaml", *arguments)
    assert said.code == 2, said.out
    assert "Traceback" not in said.err
    assert "→" in said.err
    return said.err


def test_no_baseline_is_reported_in_the_requested_files_too(rag: Verb) -> None:
    KEPT.unlink()
    error = refused(rag, "--markdown", "gate.md", "--junit", "gate.xml")
    assert error.startswith(f"{KEPT}: there is no baseline yet")
    assert "rag study baseline study" in error
    assert Path("gate.md").read_text("utf-8").startswith("<!-- assay-gate study -->\n\n## The gate of")
    assert "there is no baseline yet" in Path("gate.xml").read_text("utf-8")
    assert "there is none called 'nothing'" in rag("gate", "nothing").err


def test_a_baseline_needs_a_trial_of_a_sweep_of_its_experiment(rag: Verb) -> None:
    assert "there is no trial 'ffff'" in rag("baseline", "study.yaml", "trial=ffff").err
    assert "write trial=<id>" in rag("baseline", "study.yaml", "k=3").err
    study(axes="  k: k=3,4")
    assert "chose along chunker, and this experiment varies k" in rag("baseline", "study.yaml").err
    Path("reports/study/verdict.json").unlink()
    said = rag("baseline", "study.yaml")
    assert (said.code, "run rag sweep study first" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda text: text[: len(text) // 2], "is not a valid baseline"),
        (lambda text: "[]", "it is not a JSON object"),
        (lambda text: text.replace('"columns"', '"columnz"', 1), "'columns' is missing"),
        (lambda text: text.replace('"ndcg@10": 1.0', '"ndcg@10": NaN', 1), "NaN is not a valid score"),
        (lambda text: text.replace('"ndcg@10": 1.0', '"ndcg@10": "high"', 1), "'high' is not a valid score"),
        (lambda text: text.replace('"ndcg@10": 1.0', '"ndcg@10": 1.5', 1), "1.5 is not a valid score"),
        (lambda text: text.replace('"ndcg@10": 1.0', '"ndcg": 1.0', 1), "'ndcg@10' is missing"),
        (lambda text: json.dumps({**json.loads(text), "questions": {}}), "it has no questions"),
    ],
)
def test_a_damaged_baseline(swept: Path, tmp_path: Path, damage: Callable[[str], str], reason: str) -> None:
    path = tmp_path / "study.json"
    path.write_text(damage((swept / "here" / KEPT).read_text("utf-8")), "utf-8")
    with pytest.raises(DataError) as caught:
        baseline.load(path)
    assert (caught.value.where, reason in caught.value.what) == (str(path), True)
    assert caught.value.remedy == "take it from git, or make it: rag study baseline study"


def test_a_baseline_of_other_questions_documents_or_rules(rag: Verb) -> None:
    assert "coverage differs" in refused(rag, "coverage=0.9")
    note, questions = Path("../golden/documents/note-001.txt"), Path("../golden/questions.jsonl")
    text = note.read_text("utf-8")
    note.write_text(f"{text} More.", "utf-8")
    assert "corpus differs" in refused(rag)
    note.write_text(text, "utf-8")
    questions.write_text(questions.read_text("utf-8").replace("What does the violet lantern", "How much is the violet lantern"))
    error = refused(rag)
    for part in ("golden differs from trial", "make it again: rag study baseline study", "--bridge questions"):
        assert part in error
    bridged = rag("gate", "study.yaml", "--bridge", "questions", "--json")
    assert bridged.code == 0
    assert (bridged.json["questions"], bridged.json["compared"], bridged.json["rows"][0]["n"]) == (96, 95, 95)
    assert "--bridge: there is no 'everything'" in refused(rag, "--bridge", "everything")


@pytest.mark.parametrize(
    ("gate", "error"),
    [
        ("{metrics: {ndgc@10: .1}}", "gate.metrics: there is no 'ndgc@10'\n  → did you mean 'ndcg@10'?"),
        ("{metrics: {ndcg@10: -0.1}}", "gate.metrics.ndcg@10: is -0.1\n"),
        ("{metrics: {ndcg@10: much}}", "gate.metrics.ndcg@10: is 'much'\n"),
        ("{metrics: {ndcg@10: true}}", "gate.metrics.ndcg@10: is true\n"),
        ("{metrics: {ndcg@10: 3}}", "gate.metrics.ndcg@10: is 3\n"),
        ("{metrics: {ndcg@10: {slices: {kind: -1}}}}", "gate.metrics.ndcg@10.slices.kind: is -1\n"),
        ("{metrics: {ndcg@10: {}}}", "has no margin"),
        ("{metrics: {ndcg@10: {marging: 0.1}}}", "there is no 'marging'"),
        ("{metrics: [ndcg@10]}", "gate.metrics: is ['ndcg@10']"),
        ("{bounds: failed}", "gate.bounds: holds 'failed'"),
        ("{bounds: 3}", "gate.bounds: is 3"),
        ("{bounds: [latency_p95 <= 2]}", "did you mean 'latency_p95_ratio'?"),
        ("{bounds: [latency_p95_ratio == 1]}", "`==` cannot be used with a measured time"),
        ("{inconclusive: ignore}", "gate.inconclusive: is 'ignore'"),
        ("{metric: {}}", "gate: there is no 'metric'\n  → did you mean 'metrics'?"),
        ("{metrics: {}, bounds: []}", "gate: has no metric and no bound"),
        ("{split: 3}", "gate.split: is 3"),
    ],
)
def test_an_invalid_gate(gate: str, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        spec.parse(yaml.safe_load(gate), "", ["recall@5", "ndcg@10"])
    assert error in str(caught.value)


def test_a_gate_that_does_not_fit_its_data(rag: Verb) -> None:
    assert "split=tune: is set by the gate" in refused(rag, "split=tune")
    for gate, error in (
        ("{metrics: {ndcg@10: {slices: {kinds: 0.1}}}}", "there is no such dimension\n  → did you mean 'kind'?"),
        ("{metrics: {ndcg@10: {slices: {kind=wide: 0.1}}}}", "slice kind=wide: has no question"),
        ("yes", "gate: is true"),
        ("{split: tune}", "was measured on 'holdout', and the gate asks 'tune'"),
    ):
        study(gate=f"gate: {gate}\n")
        assert error in refused(rag)
    study(gate="gate: {split: test}\n")
    assert "no question is in 'test'" in rag("baseline", "study.yaml").err
    study(gate="gate: {metrics: {recall@3: 0.1}}\n", fixed=', "metrics=[recall@3,ndcg@10]"')
    assert "has no scores of 'recall@3'\n  → make it again: rag study baseline study" in refused(rag)


def test_an_axis_or_a_choice_that_is_gone(rag: Verb) -> None:
    study(axes="  chunker:\n    narrow: chunker=fixed chunker.size=120\n    broad: chunker=fixed chunker.size=600")
    error = refused(rag)
    assert "study.axes.chunker: the baseline chose 'wide', which no longer exists" in error
    assert "broad, narrow" in error
    study(axes=f"{AXES}\n  k: k=3,5")
    assert "study.axes.k: is an axis that the baseline does not have" in refused(rag)
    study(axes="  k: k=3,5")
    assert "study.axes.chunker: is no longer an axis" in refused(rag)


def test_a_candidate_that_cannot_run_fails(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    def chunk(self: FixedChunker, document: Document) -> list[Span]:
        raise ValueError("no <chunks> today")

    monkeypatch.setattr(FixedChunker, "chunk", chunk)
    said = rag("gate", "study.yaml", "chunker.size=577", "--json")
    assert (said.code, said.json["verdict"]) == (70, "FAIL")
    assert said.json["sentence"] == "The candidate did not run: ValueError: no <chunks> today"
    assert said.json["rows"] == []
    assert "Traceback" in said.err
    assert "no &#60;chunks&#62; today" in Path("reports/study/gate/gate.md").read_text("utf-8")
    assert 'errors="1"' in Path("reports/study/gate/junit.xml").read_text("utf-8")


def test_a_baseline_with_a_missing_score(rag: Verb) -> None:
    shutil.rmtree(".rag")
    forge(KEPT, lambda content: content["questions"]["long-001"]["scores"].update({"recall@5": None}))
    error = refused(rag, "chunker.size=580")
    assert "gate.metrics.recall@5: 1 questions have a score in one of baseline and candidate only" in error
    assert "'long-001'" in error


def test_a_report_folder_that_is_not_writable(rag: Verb) -> None:
    shutil.rmtree("reports/study/gate", ignore_errors=True)
    Path("reports/study/gate").write_text("in the way", "utf-8")
    said = rag("gate", "study.yaml")
    assert (said.code, said.out[:4]) == (2, "PASS")
    assert said.err.startswith("reports/study/gate: cannot be used")
    assert "cannot be used" in rag("baseline", "study.yaml", "--baseline", "reports/study/gate/kept.json").err


@pytest.mark.parametrize(
    ("objective", "margin"), [("minimize char_precision@5", "char_precision@5"), ("minimize recall@5, ndcg@10", "recall@5")]
)
def test_a_metric_to_minimize_has_no_margin(objective: str, margin: str) -> None:
    columns = ["recall@5", "ndcg@10", "char_precision@5"]
    with pytest.raises(ConfigError) as caught:
        spec.parse({"metrics": {margin: 0.02}}, objective, columns)
    assert caught.value.where == f"gate.metrics.{margin}"
    assert "is to be minimized, and a margin limits the loss of a metric to maximize" in caught.value.what
    assert f"a bound, for example {margin} <= 0.1 in gate.bounds" in caught.value.remedy
    # The default gate looks at the metric that the objective maximizes.
    assert spec.parse({}, "minimize recall@5, ndcg@10", columns).columns == ("ndcg@10",)
