"""Passages that need a label, and labels that need a second look, ordered by what they could change of the verdict."""

from collections.abc import Mapping

import numpy as np

from rag.authoring.candidates import Row, place_row
from rag.authoring.doubts import doubted
from rag.core.errors import DataError
from rag.core.types import Document, Place, Span, document_of, spans_of
from rag.evaluation.unjudged import NONE
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep.holes import Pool
from rag.execution.sweep.leaderboard import build_leaderboard
from rag.execution.sweep.reopen import AGAIN


def pool_rows(made: Plan, store: Store) -> list[Row]:
    """One row per question and unjudged passage among the first ranks of any trial: those that change most come first.

    `change` is the most that a label changes the difference of a question between the best trial and another one, `searches`
    are the trials that the passages come from. DataError where no two trials with different rankings have run, or where the
    objective is no metric of ranks.
    """
    board = build_leaderboard(made, {}, store)
    done = [row for row in board.rows if row.status == "done"]
    pooled = Pool(made, store, board.objective)
    swings = pooled.swings(done[0].trial_id, [row.trial_id for row in done[1:]]) if done else {}
    if not swings:
        what = f"has no two finished trials with other rankings whose {board.objective.column} is a metric of ranks"
        raise DataError(f"experiment {made.experiment.name}", what, AGAIN)
    most: dict[tuple[int, int], float] = {}
    for each in swings.values():
        for question, column in np.argwhere(each.passages != NONE).tolist():
            key = question, int(each.passages[question, column])
            most[key] = max(most.get(key, 0.0), abs(float(each.alone[question, column])))
    searches = [row.name for row in done if row.trial_id in swings or row is done[0]]
    documents, places = {each.doc_id: each for each in made.trials[0].golden.documents}, list(pooled.known)
    rows = []
    for (question, passage), change in sorted(most.items(), key=lambda item: (-item[1], item[0])):
        name = pooled.examples[question].query.query_id
        place = _row(places[passage], documents)
        rows.append({"id": name, "place": place, "change": round(change, 6), "searches": searches})
    return rows


def label_rows(made: Plan, store: Store) -> list[Row]:
    """One row per label that `rag.authoring.doubts` lists, in its order: a place, whether it is `relevant`, and its doubt."""
    board = build_leaderboard(made, {}, store)
    pooled = Pool(made, store, board.objective)
    labels = doubted(pooled, [row.trial_id for row in board.rows if row.status == "done"])
    documents = {each.doc_id: each for each in made.trials[0].golden.documents}
    return [
        {"id": pooled.examples[each.question].query.query_id, "place": _row(each.place, documents), "relevant": each.relevant}
        | {"doubt": round(each.doubt, 6), "change": round(each.change, 6)}
        for each in labels
    ]


def _row(place: Place, documents: Mapping[str, Document]) -> Row:
    if isinstance(place, Span):
        return place_row(documents[place.doc_id], place)
    text = documents[document_of(place)].text if spans_of(place) else ""
    quote = " ".join(text[span.start : span.end] for span in spans_of(place))
    return {"doc": document_of(place)} | ({"quote": quote} if quote else {})
