"""Runs and qrels of a sweep, read back and measured by trec_eval, say what the leaderboard says."""

import json
from pathlib import Path

import numpy as np
import pytrec_eval
from support.small_set import TEXTS

from rag.analysis.compare.trec_export import write_trec
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep


def write_beir(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": name, "title": "", "text": text} for name, text in TEXTS.items()]
    queries = {"q1": "When does the ferry leave?", "q2": "bus ticket", "q3": "free travel for children and dogs"}
    qrels = {"q1": {"ferry.md": 2, "winter.md": 1}, "q2": {"bus.md": 1, "ferry.md": 0}, "q3": {"rules.txt": 3, "ferry.md": 1}}
    (folder / "corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents), "utf-8")
    lines = [json.dumps({"_id": query_id, "text": text}) + "\n" for query_id, text in queries.items()]
    (folder / "queries.jsonl").write_text("".join(lines), "utf-8")
    rows = [f"{query_id}\t{doc_id}\t{grade}\n" for query_id, found in qrels.items() for doc_id, grade in found.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), "utf-8")
    return folder


def test_trec_eval_reads_what_was_written_and_agrees(tmp_path: Path) -> None:
    data = write_beir(tmp_path / "beir")
    study = tmp_path / "study.yaml"
    fixed = f'[dataset.path={data}, embedder=hashing, latency=0, generator=none, "metrics=[ndcg@10,recall@5,map@10]"]'
    study.write_text(f"question: Same?\ndataset: beir\nfixed: {fixed}\naxes:\n  chunker: chunker=whole,sentence\n", "utf-8")
    store = Store(str(tmp_path / "store"))
    made = plan.make(load(str(study)), store)
    done = sweep.run(made, store, {"mode": "inline"}, lambda key, outcome: None)
    qrels, *runs = write_trec(made, store, tmp_path / "trec")
    assert len(runs) == 2
    with qrels.open(encoding="utf-8") as file:
        gold = pytrec_eval.parse_qrel(file)
    for trial, path in zip(made.trials, runs, strict=True):
        with path.open(encoding="utf-8") as file:
            run = pytrec_eval.parse_run(file)
        measured = pytrec_eval.RelevanceEvaluator(gold, {"ndcg_cut_10", "recall_5", "map_cut_10"}).evaluate(run)
        row = next(row for row in done.board.rows if row.trial_id == trial.trial_id)
        for ours, theirs in (("ndcg@10", "ndcg_cut_10"), ("recall@5", "recall_5"), ("map@10", "map_cut_10")):
            assert abs(row.value(ours) - np.mean([scores[theirs] for scores in measured.values()])) < 1e-9
