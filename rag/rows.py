"""What a trial did with each of its questions, read from the store for MLflow."""

from collections.abc import Mapping

from rag.corpus import Corpus
from rag.evaluate import Scores
from rag.jobs import corpus_of, rankings_of, replies_of
from rag.kept import answer_parts
from rag.plan import Plan, PlannedTrial
from rag.records import Span
from rag.store import Store
from rag.traces import LIMIT, Passage, QuestionRecord
from rag.tracking import Table

WIDTH = 10
"""Passages of a question, at most."""


def table(trial: PlannedTrial, made: Plan, store: Store) -> Table | None:
    """Scores and answers of all questions; None for a trial without scores."""
    entry = store.read(made.stages[trial.ends.score].entry)
    if entry is None:
        return None
    scores = Scores.from_arrays(entry.arrays)
    generated = store.read(made.stages[trial.ends.check].entry) if trial.ends.check else None
    answers = [reply.text for reply in replies_of(generated)] if generated else [""] * len(scores.query_ids)
    rows = [
        [
            example.query.query_id,
            example.query.text,
            example.kind,
            *(None if value != value else value for value in row),
            answer,
        ]
        for example, row, answer in zip(trial.golden.examples, scores.values.tolist(), answers, strict=True)
    ]
    return Table(["id", "question", "kind", *scores.columns, "answer"], rows)


def questions(trial: PlannedTrial, made: Plan, store: Store) -> list[QuestionRecord]:
    """The first `LIMIT` questions with their passages; none for a trial that is not whole in the store."""
    ends = trial.ends
    score, chunks, ranked = (store.read(made.stages[end].entry) for end in (ends.score, ends.corpus, ends.ranking))
    checked = store.read(made.stages[ends.check].entry) if ends.check else None
    if score is None or chunks is None or ranked is None or (ends.check and checked is None):
        return []
    scores, corpus, k = Scores.from_arrays(score.arrays), corpus_of(chunks, trial.golden), trial.trial.config["k"]
    rankings, replies = rankings_of(ranked), answer_parts(checked.meta) if checked else None
    texts = {document.doc_id: document.text for document in trial.golden.documents}
    found = []
    for row, example in enumerate(trial.golden.examples[:LIMIT]):
        reply = replies[row] if replies else None
        hits = [(position, score) for position, (rank, score) in rankings.placed(row).items() if rank <= k]
        read = reply.read if reply else () if replies else hits
        values = dict(zip(scores.columns, scores.values[row].tolist(), strict=True))
        record = QuestionRecord(
            query_id=example.query.query_id,
            text=example.query.text,
            passages=[_passage(corpus, position, score) for position, score in read[:WIDTH]],
            answer=None if replies is None else reply.reply.text if reply else "",
            scores={column: value for column, value in values.items() if value == value},
            expected=example.answers,
            evidence=[_quote(place, texts) for group in example.evidence if group.grade > 0 for place in group.alternatives],
            unanswerable=example.to_decline,
            failed=bool(scores.failed[row]),
            history=[(turn.role, turn.text) for turn in example.query.history],
            tags={"split": example.split, "kind": example.kind, "tags": ", ".join(example.tags)},
        )
        found.append(record)
    return found


def _passage(corpus: Corpus, position: int, score: float) -> Passage:
    doc_id = corpus.documents[int(corpus.doc[position])].doc_id
    return Passage(corpus.text(position), doc_id, f"{doc_id}:{corpus.start[position]}-{corpus.end[position]}", score)


def _quote(place: Span | str, texts: Mapping[str, str]) -> tuple[str, str]:
    """The document of a gold place and its quote; a document that is gold as a whole is named without one."""
    return (place.doc_id, texts[place.doc_id][place.start : place.end]) if isinstance(place, Span) else (place, "")
