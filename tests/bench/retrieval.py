"""Retrieval on public sets beside figures that others published or took with other code."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from bench.measuring import Row, Rows, declared, public, scores_by_trial, swept

from rag.evaluation.statistics.paired import family

BM25 = {"bm25s": "index=[bm25s] fusion=single"}
SEARCHES = BM25 | {"minilm": "index=[faiss_flat] fusion=single", "rrf": "index=[bm25s,faiss_flat] fusion=rrf"}
FORMS = {form: f"{BM25['bm25s']} dataset.queries=queries.{form}.jsonl" for form in ("lastturn", "rewrite", "questions")}
REFERENCES: Mapping[str, tuple[dict[str, str], dict[str, float]]] = {
    "cranfield": (SEARCHES, {"bm25s": 0.519, "minilm": 0.513, "rrf": 0.562}),
    "scifact-train": (BM25, {"bm25s": 0.696}),
    "hotpotqa-200": (BM25, {"bm25s": 0.799}),
    "mtrag-human-179": (FORMS, {"lastturn": 0.578, "rewrite": 0.611, "questions": 0.435}),
}
"""nDCG@10 of whole documents; the grades of Cranfield are read as binary."""
WINDOWS = {"fixed-800": (0.90, 0.057), "fixed-1600": (0.97, 0.032), "fixed-3200": (0.996, 0.017)}
"""char_recall@5 and iou@5 of fixed windows on chroma-a by other code; splitters by separators differ."""


def binary(source: Path, folder: Path) -> Path:
    """A copy of a collection in which every grade is 1."""
    copy = folder / "cranfield-binary"
    (copy / "qrels").mkdir(parents=True)
    for name in ("corpus.jsonl", "queries.jsonl"):
        (copy / name).symlink_to(source / name)
    head, *lines = (source / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines)
    text = "".join(f"{query}\t{document}\t{min(int(grade), 1)}\n" for query, document, grade in rows)
    (copy / "qrels" / "test.tsv").write_text(f"{head}\n{text}", "utf-8")
    return copy


def references(folder: Path) -> Rows:
    """BM25, MiniLM and their fusion over collections in BEIR's format, conversations, and spans of chroma-a."""
    for name, (axis, figures) in REFERENCES.items():
        source = public(f"beir/{name}")
        path = binary(source, folder) if name == "cranfield" else source
        fixed = [f"dataset.path={path}", "chunker=whole", "generator=none", "latency=0", "metrics=[ndcg@10]"]
        done, _ = swept(declared(name, "beir", fixed, {"of": axis}))
        for row in done.board.rows:
            trial = row.name if len(axis) > 1 else next(iter(axis))
            found, figure = row.value("ndcg@10"), figures[trial]
            yield Row(f"{name}, {trial}", found, "nDCG@10", "reference", figure, f"{found - figure:+.4f}")
    done, _ = swept("chunking", "split=all")
    for row in done.board.rows:
        for column, figure in zip(("char_recall@5", "iou@5"), WINDOWS.get(row.name, ()), strict=False):
            yield Row(f"chroma-a, BM25, {row.name}", row.value(column), column, "reference", figure)


def gap_loop(folder: Path) -> Rows:
    """Questions that need two passages; the rules were developed on the even ones of hotpotqa-200, the odd ones measure."""
    hotpot = ("dataset=beir", f"dataset.path={public('beir/hotpotqa-200')}", "chunker=whole")
    done, store = swept("loops", *hotpot, "latency=0", "metrics=[full_recall@10]")
    scores = {name: each.column("full_recall@10") for name, each in scores_by_trial(done, store).items()}
    for search in ("bm25", "hybrid"):
        single, loop = scores[f"single · {search}"], scores[f"gap loop · {search}"]
        for name, rows in {"odd": slice(1, None, 2), "all": slice(None)}.items():
            mean, low, high, _ = family((loop - single)[rows, None], np.arange(len(single))[rows]).corrected(0)
            note = f"{mean:+.3f} [{low:.3f}, {high:.3f}], {len(single[rows])} questions"
            what = f"hotpotqa-200, {name} questions, {search}, gap_loop_rules"
            yield Row(what, loop[rows].mean(), "full_recall@10", "single", single[rows].mean(), note)
