"""What a gate says of input that it cannot use: where, what, what would do."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import Verb
from support.gate_experiment import AXES, GATE, forge, write_gated, write_many

from rag.components.chunkers.fixed import FixedChunker
from rag.core.records import Document, Span

KEPT = Path("reports/baselines/study.json")


def study(gate: str = GATE, axes: str = AXES, fixed: str = "") -> None:
    write_gated(Path("study.yaml"), Path("../golden"), axes=axes, gate=gate, fixed=fixed)


def refused(rag: Verb, *arguments: str) -> str:
    """What a gate said that it would not be asked."""
    said = rag("gate", "study.yaml", *arguments)
    assert said.code == 2, said.out
    assert "Traceback" not in said.err
    assert "→" in said.err
    return said.err


def test_no_baseline(rag: Verb) -> None:
    KEPT.unlink()
    said = refused(rag)
    assert said.startswith(f"{KEPT}: there is no baseline yet")
    assert "rag baseline study" in said


def test_no_sweep_to_take_a_baseline_from(rag: Verb) -> None:
    Path("reports/study/verdict.json").unlink()
    said = rag("baseline", "study.yaml")
    assert said.code == 2
    assert "run rag sweep study first" in said.err


def test_a_baseline_of_no_trial_of_this_experiment(rag: Verb) -> None:
    assert "there is no trial 'ffff'" in rag("baseline", "study.yaml", "trial=ffff").err
    assert "write trial=<id>" in rag("baseline", "study.yaml", "k=3").err
    study(axes="  k: k=3,4")
    said = rag("baseline", "study.yaml").err
    assert "chose along chunker, and this experiment varies k" in said


@pytest.mark.parametrize(
    ("damage", "said"),
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
def test_a_damaged_baseline(rag: Verb, damage: Callable[[str], str], said: str) -> None:
    KEPT.write_text(damage(KEPT.read_text("utf-8")), "utf-8")
    told = refused(rag)
    assert str(KEPT) in told
    assert said in told
    assert "take it from git, or make it: rag baseline study" in told


def test_a_baseline_of_another_golden_set(rag: Verb) -> None:
    questions = Path("../golden/questions.jsonl")
    questions.write_text(questions.read_text("utf-8").replace("What does the violet lantern", "How much is the violet lantern"))
    told = refused(rag)
    assert "golden differs from trial" in told
    assert "make it again: rag baseline study" in told
    assert "--bridge questions" in told
    bridged = rag("gate", "study.yaml", "--bridge", "questions", "--json")
    assert bridged.code == 0
    assert (bridged.json["questions"], bridged.json["compared"]) == (96, 95)
    assert bridged.json["rows"][0]["n"] == 95
    assert "'everything' is nothing that may differ" in refused(rag, "--bridge", "everything")


def test_a_baseline_of_other_documents_or_rules(rag: Verb) -> None:
    assert "coverage differs" in refused(rag, "coverage=0.9")
    note = Path("../golden/documents/note-001.txt")
    note.write_text(f"{note.read_text('utf-8')} More.", "utf-8")
    assert "corpus differs" in refused(rag)


def test_a_baseline_of_another_split(rag: Verb) -> None:
    study(gate="gate: {split: tune}\n")
    assert "was measured on 'holdout', and the gate asks 'tune'" in refused(rag)
    study(gate="gate: {split: test}\n")
    assert "no question is in 'test'" in rag("baseline", "study.yaml").err


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("gate: {metrics: {ndgc@10: .1}}", "gate.metrics.ndgc@10: is not measured\n  → did you mean 'ndcg@10'?"),
        ("gate: {metrics: {ndcg@10: -0.1}}", "gate.metrics.ndcg@10: is -0.1, below 0"),
        ("gate: {metrics: {ndcg@10: much}}", "gate.metrics.ndcg@10: is 'much', no number"),
        ("gate: {metrics: {ndcg@10: .nan}}", "gate.metrics.ndcg@10: is nan, no number"),
        ("gate: {metrics: {ndcg@10: true}}", "gate.metrics.ndcg@10: is true, no number"),
        ("gate: {metrics: {ndcg@10: 3}}", "no metric can lose as much"),
        ("gate: {metrics: {ndcg@10: {slices: {kind: -1}}}}", "gate.metrics.ndcg@10.slices.kind: is -1, below 0"),
        ("gate: {metrics: {ndcg@10: {slices: {kinds: 0.1}}}}", "there is no such dimension\n  → did you mean 'kind'?"),
        ("gate: {metrics: {ndcg@10: {slices: {kind=wide: 0.1}}}}", "slice kind=wide: has no question"),
        ("gate: {metrics: {ndcg@10: {}}}", "has no margin"),
        ("gate: {metrics: {ndcg@10: {marging: 0.1}}}", "is no setting of a margin"),
        ("gate: {metrics: [ndcg@10]}", "gate.metrics: is ['ndcg@10']"),
        ("gate: {bounds: failed}", "gate.bounds: holds 'failed'"),
        ("gate: {bounds: 3}", "gate.bounds: is 3"),
        ("gate: {bounds: [latency_p95 <= 2]}", "did you mean 'latency_p95_ratio'?"),
        ("gate: {bounds: [latency_p95_ratio == 1]}", "no clock reads the same twice"),
        ("gate: {inconclusive: ignore}", "gate.inconclusive: is 'ignore'"),
        ("gate: {inconclusive: [warn]}", "gate.inconclusive: is ['warn']"),
        ("gate: {metric: {}}", "gate.metric: is no setting of a gate\n  → did you mean 'metrics'?"),
        ("gate: {metrics: {}, bounds: []}", "gate: looks at nothing"),
        ("gate: {split: 3}", "gate.split: is 3"),
        ("gate: yes", "gate: is true"),
    ],
)
def test_a_gate_that_cannot_be_meant(rag: Verb, gate: str, said: str) -> None:
    study(gate=f"{gate}\n")
    assert said in refused(rag)


def test_a_metric_that_the_baseline_did_not_measure(rag: Verb) -> None:
    study(gate="gate: {metrics: {recall@3: 0.1}}\n", fixed=', "metrics=[recall@3,ndcg@10]"')
    told = refused(rag)
    assert "holds no scores of 'recall@3'" in told
    assert "rag baseline study" in told


def test_an_axis_or_a_choice_that_is_gone(rag: Verb) -> None:
    study(axes="  chunker:\n    narrow: chunker=fixed chunker.size=120\n    broad: chunker=fixed chunker.size=600")
    told = refused(rag)
    assert "study.axes.chunker: the baseline chose 'wide', which is there no more" in told
    assert "broad, narrow" in told
    study(axes=f"{AXES}\n  k: k=3,5")
    assert "study.axes.k: is an axis that the baseline does not know" in refused(rag)
    study(axes="  k: k=3,5")
    assert "study.axes.chunker: was an axis and is none now" in refused(rag)


def test_a_change_that_is_no_override(rag: Verb) -> None:
    assert "there is no choice 'recursiv'" in refused(rag, "chunker=recursiv")
    assert "there is no 'sise' in chunker" in refused(rag, "chunker.sise=3")
    assert "split=tune: is what the gate says" in refused(rag, "split=tune")
    assert "k=3,5: names several values" in refused(rag, "k=3,5")


def test_a_slice_with_one_question_is_said_to_be_too_small(rag: Verb) -> None:
    path, long = Path("../golden/questions.jsonl"), '"kind": "long", "cluster": "note-001'
    path.write_text(path.read_text("utf-8").replace(long, long.replace("long", "odd")), "utf-8")
    assert rag("baseline", "study.yaml").code == 0
    said = rag("gate", "study.yaml", "chunker.size=580", "--json")
    (row,) = [row for row in said.json["rows"] if row["slice"] == "kind=odd"]
    assert (row["n"], row["verdict"], row["low"]) == (1, "INCONCLUSIVE", None)
    assert row["why"] == "too few questions: 1 question, and 10 clusters are the least"
    assert row["needed"] is None


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


def test_scores_that_are_nowhere(rag: Verb) -> None:
    shutil.rmtree(".rag")
    forge(KEPT, lambda content: content["questions"]["long-001"]["scores"].update({"recall@5": None}))
    told = refused(rag, "chunker.size=580")
    assert "gate.metrics.recall@5: 1 questions have a score in one of baseline and candidate only" in told
    assert "'long-001'" in told


def test_a_report_folder_that_is_not_writable(rag: Verb) -> None:
    shutil.rmtree("reports/study/gate", ignore_errors=True)
    Path("reports/study/gate").write_text("in the way", "utf-8")
    said = rag("gate", "study.yaml")
    assert (said.code, said.out[:4]) == (2, "PASS")
    assert said.err.startswith("reports/study/gate/gate.json: cannot be written")
    assert "cannot be written" in rag("baseline", "study.yaml", "--baseline", "reports/study/gate/kept.json").err


def test_a_gate_that_cannot_be_asked_says_so_in_the_files_that_were_asked_for(rag: Verb) -> None:
    KEPT.unlink()
    refused(rag, "--markdown", "gate.md", "--junit", "gate.xml")
    assert Path("gate.md").read_text("utf-8").startswith("<!-- assay-gate study -->\n\n## The gate of")
    assert "there is no baseline yet" in Path("gate.xml").read_text("utf-8")


def test_an_experiment_that_is_not_there(rag: Verb) -> None:
    assert "there is none called 'nothing'" in rag("gate", "nothing").err


def test_what_is_to_be_small_has_no_margin(rag: Verb) -> None:
    held = ', "metrics=[recall@5,ndcg@10,char_precision@5]"'
    for objective, gate in (
        ("minimize char_precision@5", "char_precision@5: .02"),
        ("minimize recall@5, ndcg@10", "recall@5: 0"),
    ):
        study(gate=f"objective: {objective}\ngate: {{metrics: {{{gate}}}}}\n", fixed=held)
        column = gate.partition(":")[0]
        told = refused(rag)
        assert f"gate.metrics.{column}: is to be small, and a margin says how much may be lost" in told
        assert f"a bound, for example {column} <= 0.1 in gate.bounds" in told
    # What the objective maximizes is the metric of a gate that names none.
    study(gate="objective: minimize recall@5, ndcg@10\n", fixed=held)
    assert rag("baseline", "study.yaml").code == 0
    assert [row["column"] for row in rag("gate", "study.yaml", "--json").json["rows"]] == ["ndcg@10"]


def test_one_question_and_one_cluster_carry_no_verdict(rag: Verb) -> None:
    path = Path("../golden/questions.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    alike = [{**line, "cluster": "one" if line["split"] == "holdout" else line["cluster"]} for line in lines]
    single = [line for line in lines if line["split"] == "tune" or line["id"] == "long-001"]
    for chosen, counted in ((alike, "96 questions in 1 cluster"), (single, "1 question")):
        path.write_text("\n".join(map(json.dumps, chosen)), "utf-8")
        assert rag("sweep", "study.yaml", "--no-track").code == 0
        assert rag("baseline", "study.yaml").code == 0
        said = rag("gate", "study.yaml", "chunker.size=40", "--json")
        assert (said.code, said.json["verdict"]) == (3, "INCONCLUSIVE")
        (row,) = [row for row in said.json["rows"] if (row["column"], row["slice"]) == ("ndcg@10", "")]
        assert row["why"] == f"too few questions: {counted}, and 10 clusters are the least"
        assert row["low"] is row["high"] is None


def test_a_baseline_of_other_questions_says_how_to_ask_them(rag: Verb, here: Path) -> None:
    (here.parent / "golden").rename(here.parent / "mein Ordner ü")
    own = 'dataset.path="../mein Ordner ü"'
    (here / "experiments").mkdir()
    (here / "study.yaml").rename(here / "experiments" / "study.yaml")
    with (here.parent / "mein Ordner ü" / "documents" / "note-000.txt").open("a") as file:
        file.write(" One more sentence.")
    write_many(here.parent / "golden", documents=60)
    assert rag("sweep", "study", own, "--no-track").code == 0
    command = f"rag gate study dataset=native {shlex.quote(own)}"
    assert f"`{command}` compares with it" in rag("baseline", "study").out
    assert rag(*shlex.split(command)[1:]).code == 0
    said = rag("gate", "study", "k=3")
    assert said.code == 2
    assert f"ask its questions: {command} k=3; or make it again" in said.err
