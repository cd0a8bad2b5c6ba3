"""Retrieval quality against figures that others published or took with other code."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from bench.measuring import DATA, Report, declared, means, needs_data, swept

from rag.evaluation.data import trec
from rag.evaluation.scoring import Scores, document_rankings
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import Sweep

pytestmark = [pytest.mark.bench, needs_data]

BM25 = {"bm25s": "index=[bm25s] fusion=single"}
SEARCHES = BM25 | {"minilm": "index=[faiss_flat] fusion=single", "rrf": "index=[bm25s,faiss_flat] fusion=rrf"}
WITHIN = 0.005


def beir(folder: Path, collection: Path, axes: dict[str, Any]) -> tuple[Sweep, Store]:
    """Sweep a collection with whole documents as chunks."""
    metrics = "metrics=[ndcg@10,recall@100,map@100,mrr@10,precision@5]"
    fixed = [f"dataset.path={collection}", "chunker=whole", "generator=none", "latency=0", metrics]
    return swept(declared(folder / f"{collection.name}.yaml", "How well is it found?", "beir", fixed, axes))


def binary(source: Path, folder: Path) -> Path:
    """A copy of a collection in which every grade is 1."""
    copy = folder / f"{source.name}-binary"
    (copy / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl"):
        (copy / name).symlink_to(source / name)
    head, *lines = (source / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    text = "".join(f"{query}\t{document}\t{min(int(grade), 1)}\n" for query, document, grade in rows)
    (copy / "qrels" / "test.tsv").write_text(f"{head}\n{text}", "utf-8")
    return copy


def compared(title: str, found: dict[str, float], published: dict[str, float]) -> None:
    """Print nDCG@10 and the published figures, and compare them."""
    report = Report(title, ("trial", "Assay", "reference", "difference"))
    for name, figure in published.items():
        report.row(name, found[name], figure, f"{found[name] - figure:+.4f}")
    report.show()
    assert found == pytest.approx(published, abs=WITHIN)


def test_cranfield_with_every_grade_as_one(bench: Path) -> None:
    done, _ = beir(bench, binary(DATA / "beir" / "cranfield", bench), {"search": SEARCHES})
    compared("Cranfield, grades as binary, nDCG@10", means(done, "ndcg@10"), {"bm25s": 0.519, "minilm": 0.513, "rrf": 0.562})


@pytest.mark.parametrize(("name", "figure"), [("scifact-train", 0.696), ("hotpotqa-200", 0.799)])
def test_bm25(bench: Path, name: str, figure: float) -> None:
    done, _ = beir(bench, DATA / "beir" / name, {"search": BM25})
    compared(f"{name}, nDCG@10", {"bm25s": done.board.rows[0].value("ndcg@10")}, {"bm25s": figure})


def test_questions_of_conversations(bench: Path) -> None:
    forms = {
        form: f"index=[bm25s] fusion=single dataset.queries=queries.{form}.jsonl"
        for form in ("lastturn", "rewrite", "questions")
    }
    done, _ = beir(bench, DATA / "beir" / "mtrag-human-179", {"form": forms})
    compared(
        "mtrag-human-179, BM25, nDCG@10", means(done, "ndcg@10"), {"lastturn": 0.578, "rewrite": 0.611, "questions": 0.435}
    )


TREC_NAMES = {"ndcg@10": "ndcg_cut_10", "recall@100": "recall_100", "map@100": "map", "precision@5": "P_5"}


@pytest.mark.parametrize("grades", ["graded", "binary"])
def test_cranfield_scores_are_those_of_trec_eval(bench: Path, grades: str) -> None:
    source = DATA / "beir" / "cranfield"
    done, store = beir(bench, source if grades == "graded" else binary(source, bench), {"search": BM25})
    (trial,) = done.plan.trials
    ours = scores_of(trial, done, store)
    theirs = trec_eval(bench, trial, done, store)
    report = Report(f"Cranfield, BM25, {grades} against pytrec_eval", ("metric", "Assay", "trec_eval", "largest difference"))
    largest = 0.0
    for column, name in TREC_NAMES.items():
        expected = np.array([theirs[query_id][name] for query_id in ours.query_ids])
        found = ours.column(column)
        largest = max(largest, difference := float(np.abs(found - expected).max()))
        report.row(column, float(found.mean()), float(expected.mean()), f"{difference:.1e}")
    report.note(f"{len(ours.query_ids)} questions; the differences are those of single questions.")
    report.show()
    assert largest < 1e-9


def scores_of(trial: PlannedTrial, done: Sweep, store: Store) -> Scores:
    entry = store.read(done.plan.stages[trial.ends.score].entry)
    assert entry is not None
    return Scores.from_arrays(entry.arrays)


def trec_eval(folder: Path, trial: PlannedTrial, done: Sweep, store: Store) -> dict[str, dict[str, float]]:
    """Scores of the same rankings by trec_eval, which reads them from files in its own format."""
    chunks, ranked = (store.read(done.plan.stages[key].entry) for key in (trial.ends.corpus, trial.ends.ranking))
    assert chunks is not None
    assert ranked is not None
    examples = trial.golden.examples
    rankings = document_rankings(rankings_of(ranked), corpus_of(chunks, trial.golden))
    trec.write_run(folder / "run.txt", dict(zip((example.query.query_id for example in examples), rankings, strict=True)))
    grades = {e.query.query_id: {str(group.alternatives[0]): group.grade for group in e.evidence} for e in examples}
    trec.write_qrels(folder / "qrels.txt", grades)
    with (folder / "run.txt").open() as run, (folder / "qrels.txt").open() as qrels:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels), set(TREC_NAMES.values()))
        found: dict[str, dict[str, float]] = evaluator.evaluate(pytrec_eval.parse_run(run))
    return found


SPANS = {
    "recursive-400": (0.77, 0.119),
    "recursive-800": (0.88, 0.067),
    "recursive-1600": (0.96, 0.037),
    "fixed-800": (0.90, 0.057),
    "fixed-1600": (0.97, 0.032),
    "fixed-3200": (0.996, 0.017),
    "sentence-3": (0.77, 0.106),
    "sentence-6-overlapping": (None, None),
}


def test_character_spans_of_chunking_evaluation(bench: Path) -> None:
    done, _ = swept("chunking", "split=all")
    recall, iou, budget = (means(done, column) for column in ("char_recall@5", "iou@5", "recall@2000chars"))
    columns = ("chunker", "char_recall@5", "reference", "iou@5", "reference", "recall@2000chars")
    report = Report("chroma-a, character spans, BM25, five chunks", columns)
    for name, (known_recall, known_iou) in SPANS.items():
        report.row(name, recall[name], known_recall, iou[name], known_iou, budget[name])
    report.note("References: other code, the same BM25. Fixed windows are the same everywhere; splitters by separators differ.")
    report.show()
    for name, (known_recall, known_iou) in SPANS.items():
        if name.startswith("fixed"):
            assert recall[name] == pytest.approx(known_recall, abs=0.01)
            assert iou[name] == pytest.approx(known_iou, abs=0.001)
