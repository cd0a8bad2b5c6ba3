"""Rated answers → golden questions: what each would say, and what has to be settled before it may stand in a set."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.components.loaders.quote_anchors import anchor, find_document
from rag.components.loaders.rendered import occurrences
from rag.core.errors import UserError
from rag.core.records import Document, Example, Span, Turn
from rag.core.text.citations import cited_sentences, unmarked, without_markers
from rag.core.text.sentences import blocks, is_heading, sentences
from rag.evaluation.data.golden import Golden, dealt_split

WORD = re.compile(r"\w+")
BAD = "it was rated as a bad answer: say what is right and where it stands, or drop it"
BARE = "nothing that it cites stands in the documents of this set: quote the evidence, or drop it"
GUESSED = "its gold is the model's own sentence and the nearest ones that it cites: it counts when you have confirmed it"
UNCONFIRMED = "unconfirmed"
"""The tag of a draft whose gold is a model's."""

Row = dict[str, Any]
"""A golden question as a line of questions.jsonl holds it."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """A rated answer: `history` is what its question was answered after, `told` all that the server said of it.

    `rating` is 1 or -1, `at` seconds since 1970.
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
    """The golden question that an opinion could become; it cannot be accepted as it is while something is `open`.

    `notes` are what a reviewer should know and may overrule. `known` says that it stands in the set already.
    """

    opinion: Opinion
    row: Row
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    known: bool = False

    def to_json(self) -> dict[str, Any]:
        """The draft, and the words that it comes from."""
        said = {name: getattr(self.opinion, name) for name in ("answer", "owner", "rating", "comment", "at")}
        return said | {"row": self.row, "open": list(self.open), "notes": list(self.notes), "known": self.known}


def draft(opinion: Opinion, golden: Golden) -> Draft:
    """What a rated answer says as a golden question over the documents of a set.

    A good answer brings itself as the reference, and of each passage that it cites the sentence that says most nearly the
    same; a person has to confirm both. One that declined well is a question that the corpus cannot answer. A bad one brings
    the question alone.
    """
    told, good = opinion.told, opinion.rating > 0
    answered = good and not told["abstained"]
    evidence, notes = _evidence(told, golden.documents) if answered else ([], [])
    kind = "unanswerable" if good and not answered else "follow_up" if opinion.history else "asked"
    row: Row = {"id": f"asked-{_short(opinion.answer)}", "text": told["question"], "kind": kind}
    row["tags"] = ["feedback", UNCONFIRMED] if answered else ["feedback"]
    row |= _placed(opinion, evidence, golden)
    row["history"] = [asdict(turn) for turn in opinion.history]
    row["answers"] = [without_markers(told["answer"]).strip()] if answered else []
    row["evidence"] = evidence
    to_settle = [BAD] if not good else [BARE] if answered and not evidence else []
    notes += [*_alike(row, golden.examples), *([GUESSED] if answered else [])]
    known = any(example.query.query_id == row["id"] for example in golden.examples)
    return Draft(opinion, row, tuple(to_settle), tuple(notes), known)


def confirmed(row: Mapping[str, Any]) -> Row:
    """A draft that a person has accepted, as it is written into a set."""
    tags = row.get("tags")
    return {**row, "tags": [tag for tag in tags if tag != UNCONFIRMED]} if isinstance(tags, list) else dict(row)


def _short(secret: str) -> str:
    """A name that does not give away the id it is made of: who knows that may use it."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()[:12]


def _evidence(told: Mapping[str, Any], documents: Sequence[Document]) -> tuple[list[Row], list[str]]:
    """One group for each sentence of an answer that cites something, what it cites as the alternatives; and what is amiss."""
    by_name = {document.doc_id: document for document in documents}
    groups: list[Row] = []
    notes: list[str] = []
    plain = unmarked(told["answer"])
    for sentence in cited_sentences(told["answer"]):
        places: list[Row] = []
        for number in sentence.cites(len(told["contexts"])):
            try:
                places.append(_place(plain[sentence.start : sentence.end], told["contexts"][number - 1], by_name))
            except UserError as error:
                notes.append(f"source {number}: {error.what}")
        group = {"grade": 1, "any": places}
        if places and group not in groups:
            groups.append(group)
    return groups, notes


def _place(statement: str, context: Mapping[str, Any], documents: Mapping[str, Document]) -> Row:
    """Where a passage says what a statement does; DataError where the document is gone or says something else by now."""
    where = "evidence"
    document = find_document(context["doc_id"], documents, where)
    start, end = _nearest(statement, context["text"])
    quote, begin = context["text"][start:end], context["start"] + start
    span = anchor(document, quote, (begin, begin + len(quote)), where)
    place: Row = {"doc": document.doc_id, "quote": quote}
    several = len(occurrences(document.text, quote, 2)) > 1
    return place | ({"start": span.start, "end": span.end} if several else {})


def _nearest(statement: str, text: str) -> tuple[int, int]:
    """The sentence of a text that shares most words with a statement, as F1 counts it; the first of several."""
    wanted = _words(statement)
    pieces = [piece for block in blocks(text) if not is_heading(text, block[0]) for piece in sentences(text, block)]
    shared = [(2 * len(wanted & (words := _words(text[start:end]))) / (len(wanted) + len(words) or 1)) for start, end in pieces]
    return pieces[shared.index(max(shared))] if any(shared) else (0, len(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.casefold()))


def _placed(opinion: Opinion, evidence: Sequence[Row], golden: Golden) -> Row:
    """Its cluster: that of a question with the same evidence, else that of its session; and a split where the set names any.

    Two questions about one sentence in two splits would make the holdout look better than it is.
    """
    given = [(place["doc"], place["quote"]) for group in evidence for place in group["any"]]
    texts = {document.doc_id: document.text for document in golden.documents}
    for example in golden.examples:
        for span in _spans(example):
            quote = texts[span.doc_id][span.start : span.end]
            if any(span.doc_id == doc and (quote in other or other in quote) for doc, other in given):
                return {"cluster": example.cluster} | ({} if golden.dealt else {"split": example.split})
    cluster = f"asked-{_short(opinion.told.get('session') or opinion.answer)}"
    return {"cluster": cluster} | ({} if golden.dealt or not golden.examples else {"split": dealt_split(cluster)})


def _spans(example: Example) -> Iterator[Span]:
    for group in example.evidence:
        yield from (place for place in group.alternatives if isinstance(place, Span))


def _alike(row: Row, examples: Sequence[Example]) -> Iterator[str]:
    """Questions of the set that ask the same in the same words."""
    history = tuple(Turn(**turn) for turn in row["history"])
    for example in examples:
        same = _words(example.query.text) == _words(row["text"]) and example.query.history == history
        if same and example.query.query_id != row["id"]:
            yield f"{example.query.query_id} asks the same"
