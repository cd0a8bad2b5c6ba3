"""Export the rankings and gold of a sweep in TREC's formats, for trec_eval, ir_measures and ranx."""

import re
from pathlib import Path

from rag.core.types import ALL, Example, document_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.trec import write_qrels, write_run
from rag.evaluation.scoring import document_rankings
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store


def write_trec(made: Plan, store: Store, folder: Path) -> list[Path]:
    """Write the qrels, and one run of documents per finished trial; return the files, qrels first.

    The grade of a document is the best grade of its evidence. OSError if they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    qrels = folder / "qrels.txt"
    write_qrels(qrels, {example.query.query_id: grades(example) for example in made.trials[0].golden.examples})
    return [qrels, *(path for trial in made.trials if (path := _write_run(trial, trial.golden, made, store, folder)))]


def grades(example: Example) -> dict[str, int]:
    """The grades of the documents judged for a question; 0 without evidence and where records answer."""
    by_document = dict.fromkeys(sorted(each for each in example.judged if isinstance(each, str) and each != ALL), 0)
    for group in example.evidence if example.route != "records" else ():
        for place in group.alternatives:
            doc_id = document_of(place)
            by_document[doc_id] = max(by_document.get(doc_id, 0), group.grade)
    return by_document


def _write_run(trial: PlannedTrial, golden: Golden, made: Plan, store: Store, folder: Path) -> Path | None:
    ranking = store.read(made.stages[trial.ends.ranking].entry)
    chunks = store.read(made.stages[trial.ends.corpus].entry)
    if ranking is None or chunks is None:
        return None
    rankings = document_rankings(rankings_of(ranking), corpus_of(chunks, golden))
    path = folder / f"{re.sub(r'[^A-Za-z0-9.+-]+', '_', trial.trial.name)}-{trial.trial_id}.run"
    queries = (example.query.query_id for example in golden.examples)
    write_run(path, dict(zip(queries, rankings, strict=True)), tag=trial.trial_id)
    return path
