"""A sweep's rankings and gold in TREC's formats, for trec_eval, ir_measures, ranx and whoever wants to check our numbers."""

import re
from pathlib import Path

from rag.core.errors import DataError
from rag.core.records import Example, Span
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.trec import write_qrels, write_run
from rag.evaluation.scoring import document_rankings
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store


def write_trec(made: Plan, store: Store, folder: Path) -> list[Path]:
    """Write one run of documents per finished trial, and the qrels beside them; the files, qrels first.

    A document is graded with the best grade of the evidence that it holds. DataError for what can be no folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(str(folder), f"cannot be made ({error.strerror})", "name a folder to write into") from error
    qrels = folder / "qrels.txt"
    write_qrels(qrels, {example.query.query_id: grades(example) for example in made.trials[0].golden.examples})
    return [qrels, *(path for trial in made.trials if (path := _write_run(trial, trial.golden, made, store, folder)))]


def grades(example: Example) -> dict[str, int]:
    """Documents judged for a question, 0 for those that hold no evidence."""
    found = dict.fromkeys(sorted(example.judged), 0)
    for group in example.evidence:
        for place in group.alternatives:
            doc_id = place.doc_id if isinstance(place, Span) else place
            found[doc_id] = max(found.get(doc_id, 0), group.grade)
    return found


def _write_run(trial: PlannedTrial, golden: Golden, made: Plan, store: Store, folder: Path) -> Path | None:
    ranking = store.read(made.stages[trial.ends.ranking].entry)
    chunks = store.read(made.stages[trial.ends.corpus].entry)
    if ranking is None or chunks is None:
        return None
    found = document_rankings(rankings_of(ranking), corpus_of(chunks, golden))
    path = folder / f"{re.sub(r'[^A-Za-z0-9.+-]+', '_', trial.trial.name)}-{trial.trial_id}.run"
    queries = (example.query.query_id for example in golden.examples)
    write_run(path, dict(zip(queries, found, strict=True)), tag=trial.trial_id)
    return path
