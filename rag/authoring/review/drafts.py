"""Draft golden questions from rated answers, with the problems that a reviewer must solve first."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rag.authoring.candidates import Row, digests
from rag.authoring.review.drift import quoted_places, recorded
from rag.core.errors import UserError
from rag.core.pages import page_at
from rag.core.text.citations import cited_sentences, unmarked, without_markers
from rag.core.text.sentences import blocks, is_heading, sentences
from rag.core.types import Document, Turn
from rag.documents.anchors.quote_anchors import anchor, find_document
from rag.documents.anchors.rendered import occurrences
from rag.evaluation.data.golden import Golden, dealt_split, gold_spans

WORD = re.compile(r"\w+")
BAD = "it was rated as a bad answer: write the right answer and its evidence, or drop it"
BARE = "none of its citations is in the documents of this set: quote the evidence, or drop it"
GUESSED = "its gold is the model's own sentence and the nearest sentences of its citations: it counts once you confirm it"
EDITED = ", edited"
"""The end of the method of a question that a reviewer has changed."""
UNCONFIRMED = "unconfirmed"
"""The tag of a draft whose gold comes from a model."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A rated answer: `history` are the turns before its question, `told` is the response of the server with the answer.

    `rating` is 1 or -1, `at` is in seconds since 1970.
    """

    answer: str
    owner: str
    rating: int
    comment: str
    history: tuple[Turn, ...]
    told: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Draft:
    """A question that waits for a reviewer: one of the set, or one that a rated answer could become (`opinion`).

    It can be accepted only after the `open` problems are solved. `notes` are hints that a reviewer may ignore. `known` is true
    if the question of a rating is already in the set. A passage of a pool has a `label` of its own: `before` is its question as
    it is, `refused` its question if the passage is dropped.
    """

    opinion: Opinion | None
    row: Row
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    known: bool = False
    label: str = ""
    before: Row | None = None
    refused: Row | None = None

    @property
    def name(self) -> str:
        """The id of the rated answer or of the question, or the label of the passage."""
        return self.opinion.answer if self.opinion else self.label or str(self.row.get("id"))

    @property
    def method(self) -> str:
        """How the question was made, as in its provenance."""
        made = self.row.get("provenance")
        return str(made.get("method", "")) if isinstance(made, dict) else "rating"

    def to_json(self) -> dict[str, Any]:
        """The draft with its rating, as JSON values."""
        rated = ("answer", "owner", "rating", "comment", "at") if self.opinion else ()
        made = {"row": self.row, "open": list(self.open), "notes": list(self.notes), "known": self.known}
        return {"name": self.name} | {each: getattr(self.opinion, each) for each in rated} | made


def draft(opinion: Opinion, golden: Golden) -> Draft:
    """Draft a golden question over the documents of a set from a rated answer.

    A good answer becomes the reference answer, and the most similar sentence of each passage that it cites becomes evidence; a
    person must confirm both. A good abstention becomes an unanswerable question. Of a bad answer only the question is used.
    """
    response, good = opinion.told, opinion.rating > 0
    answered = good and not response["abstained"]
    evidence, notes = _evidence(response, golden.documents) if answered else ([], [])
    kind = "unanswerable" if good and not answered else "follow_up" if opinion.history else "asked"
    row: Row = {"id": f"asked-{_short(opinion.answer)}", "text": response["question"], "kind": kind}
    row["tags"] = ["feedback", UNCONFIRMED] if answered else ["feedback"]
    row |= _placed(opinion, evidence, golden)
    row["history"] = [turn.said for turn in opinion.history]
    row["answers"] = [without_markers(response["answer"]).strip()] if answered else []
    row["evidence"] = evidence
    to_settle = [BAD] if not good else [BARE] if answered and not evidence else []
    notes += [GUESSED] if answered else []
    known = any(example.query.query_id == row["id"] for example in golden.examples)
    return Draft(opinion, row, tuple(to_settle), tuple(notes), known)


def accepted(draft: Draft, row: Row, by: str, documents: Mapping[str, Document]) -> Row:
    """The row of a draft, or its edited row, as it is written when `by` accepts it, with the provenance that says so."""
    today = datetime.now(UTC).date().isoformat()
    made = draft.row.get("provenance")
    made = dict(made) if isinstance(made, dict) else {"method": "rating", "at": today}
    method = str(made.get("method", ""))
    edited = "" if row == draft.row or method.endswith(EDITED) else EDITED
    names = {*recorded(draft.row), *(place["doc"] for place in quoted_places(row))} & documents.keys()
    made |= {"method": method + edited, "documents": digests(sorted(names), documents), "accepted": {"by": by, "at": today}}
    tags = row.get("tags")
    kept = {"tags": [tag for tag in tags if tag != UNCONFIRMED]} if isinstance(tags, list) else {}
    return {**row, **kept, "provenance": made}


def _short(secret: str) -> str:
    """A name made from a secret id, without revealing it: the id gives access to the answer."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()[:12]


def _evidence(response: Mapping[str, Any], documents: Sequence[Document]) -> tuple[list[Row], list[str]]:
    """One group per sentence with citations, the citations as its alternatives; and the citations that cannot be placed."""
    by_name = {document.doc_id: document for document in documents}
    groups: list[Row] = []
    notes: list[str] = []
    text, contexts = unmarked(response["answer"]), response["contexts"]
    for sentence in cited_sentences(response["answer"]):
        places: list[Row] = []
        for number in sentence.cites(len(contexts)):
            try:
                places.append(_place(text[sentence.start : sentence.end], contexts[number - 1], by_name))
            except UserError as error:
                notes.append(f"source {number}: {error.what}")
        group = {"grade": 1, "any": places}
        if places and group not in groups:
            groups.append(group)
    return groups, notes


def _place(statement: str, context: Mapping[str, Any], documents: Mapping[str, Document]) -> Row:
    """The sentence of a passage that is nearest to a statement; DataError if its document is gone or has changed."""
    where = "evidence"
    document = find_document(context["doc_id"], documents, where)
    start, end = nearest_sentence(statement, context["text"])
    quote, begin = context["text"][start:end], context["start"] + start
    span = anchor(document, quote, (begin, begin + len(quote)), where)
    place: Row = {"doc": document.doc_id, "quote": quote}
    several = len(occurrences(document.text, quote, 2)) > 1
    if page := page_at(document.blocks, span.start):
        return place | {"page": page}
    return place | ({"start": span.start, "end": span.end} if several else {})


def nearest_sentence(statement: str, text: str) -> tuple[int, int]:
    """The sentence of a text with the greatest F1 of words with a statement, the first of several: start and end."""
    wanted = words_of(statement)
    pieces = [piece for block in blocks(text) if not is_heading(text, block[0]) for piece in sentences(text, block)]
    shared = [
        (2 * len(wanted & (words := words_of(text[start:end]))) / (len(wanted) + len(words) or 1)) for start, end in pieces
    ]
    return pieces[shared.index(max(shared))] if any(shared) else (0, len(text))


def words_of(text: str) -> frozenset[str]:
    """The distinct words of a text, without case."""
    return frozenset(WORD.findall(text.casefold()))


def _placed(opinion: Opinion, evidence: Sequence[Row], golden: Golden) -> Row:
    """The cluster: that of a question with the same evidence, else that of the session; and the split if the set has splits.

    Two questions about one sentence in two splits would bias the holdout.
    """
    quotes = [(place["doc"], place["quote"]) for group in evidence for place in group["any"]]
    texts = {document.doc_id: document.text for document in golden.documents}
    for example in golden.examples:
        for span in gold_spans(example):
            quote = texts[span.doc_id][span.start : span.end]
            if any(span.doc_id == doc and (quote in other or other in quote) for doc, other in quotes):
                return {"cluster": example.cluster} | ({} if golden.dealt else {"split": example.split})
    cluster = f"asked-{_short(opinion.told.get('session') or opinion.answer)}"
    return {"cluster": cluster} | ({} if golden.dealt or not golden.examples else {"split": dealt_split(cluster)})
