"""Questions and their gold. All records are immutable."""

from dataclasses import dataclass, field
from typing import Literal

from rag.core.documents import Span

SPLITS = ("tune", "holdout")
"""The parts of a golden set: one to choose trials, one to confirm the choice."""

SET = "set:"
"""The prefix of a tag that names the data set of a question, where a golden set has several."""

INPUTS = ("question", "pleasantry", "conversation", "off_topic")
"""What a message is: a question of the documents, thanks or a greeting, a question about the conversation, anything else."""
REPLIED = ("pleasantry", "conversation")
"""The kinds of messages that have a reply, and no answer from documents."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, `at` seconds since 1970; `tag` is its intent, `source` the files that it cites.

    Two turns are equal if the same role said the same.
    """

    role: Literal["user", "assistant"]
    text: str
    at: float | None = field(default=None, compare=False)
    tag: str = field(default="", compare=False)
    source: str = field(default="", compare=False)

    @property
    def said(self) -> dict[str, str]:
        """Role and text, as golden questions have them."""
        return {"role": self.role, "text": self.text}


@dataclass(frozen=True, slots=True)
class Found:
    """What a conversation found for an earlier question, as that was searched for.

    `hits` are the chunks of its first passages, best first, each with score, rank and flag `joined` as in Rankings.
    """

    question: str
    hits: tuple[tuple[Span, float, int, bool], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question with the earlier turns, oldest first.

    `rewrite` is the question as a person wrote it to be understood alone, or empty: only `queries=human` reads it. `earlier` is
    what the conversation found before, oldest first: only a RetrievalMemory reads it.
    """

    query_id: str
    text: str
    history: tuple[Turn, ...] = ()
    rewrite: str = ""
    earlier: tuple[Found, ...] = ()


Fate = Literal["exact", "pieced", "words", "unplaced", "parser", "redaction", "noise"]
FATES: tuple[Fate, ...] = ("exact", "pieced", "words", "unplaced", "parser", "redaction", "noise")
"""A quote in a parsed document: found letter by letter, with tolerance, or by its words on one page; there without a certain
place (`unplaced`); or lost by one of the three."""
PLACED: tuple[Fate, ...] = ("exact", "pieced", "words")
"""The fates of quotes with a place."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A quote as gold in a document that a parser or a redactor made.

    `spans` are its pieces in reading order, one if `fate` is exact, none if the quote is lost or not placed: `rule` then says
    why, and `chars` is its length. It is found when the union of its pieces is covered. `asked` is the quote as the golden set
    has it, the same for every parser: its span in the text of the file, or a digest.
    """

    doc_id: str
    spans: tuple[Span, ...]
    fate: Fate
    asked: Span | str
    rule: str = ""
    chars: int = 0


ALL = "*"
"""In `Example.judged`: every passage is judged, so that what is no evidence is not relevant."""

Place = Span | Anchor | str
"""Gold: a span, a quote in a parsed document, or the doc_id of a whole document."""


def spans_of(place: Place) -> tuple[Span, ...]:
    """The spans of gold; none for a whole document and for a quote that is lost."""
    return (place,) if isinstance(place, Span) else place.spans if isinstance(place, Anchor) else ()


def document_of(place: Place) -> str:
    """The doc_id of gold."""
    return place if isinstance(place, str) else place.doc_id


@dataclass(frozen=True, slots=True)
class Evidence:
    """One group of gold: satisfied when any of its alternatives is retrieved. A `doc_id` alone means the whole document."""

    alternatives: tuple[Place, ...]
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Expected:
    """The value of a right answer: one `value`, the set of `values`, or the rows of a `table`, as a person would write them."""

    value: str = ""
    values: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()

    @property
    def set(self) -> tuple[str, ...]:
        """The values, or the rows of the table as texts."""
        return self.values or tuple(" ".join(row) for row in self.table)


@dataclass(frozen=True, slots=True)
class Example:
    """A golden question. `evidence` groups are all needed.

    Without evidence the corpus cannot answer it, unless it has `answers` and is not `unanswerable`: then the place of the
    answer is not known, and only metrics that compare answers with references apply.

    `cluster` is the unit of resampling when trials are compared; `judged` are the documents and spans with a judgement for this
    question, relevant or not, and ALL where everything is judged. `searches` names the searches that its gold was looked for
    with; empty if unknown. `by_rules`: neither a person nor a model worded it. Questions of one `dialogue` are asked one after
    the other, by `turn` (from 1). `route` is the right one of `rag.core.records.queries.ROUTES`, empty if unknown: metrics of
    retrieval do not apply to `records`. `input` is the right one of INPUTS, empty if unknown; all but questions have no
    evidence.
    """

    query: Query
    evidence: tuple[Evidence, ...] = ()
    answers: tuple[str, ...] = ()
    kind: str = ""
    tags: tuple[str, ...] = ()
    split: str = ""
    cluster: str = ""
    judged: frozenset[Place] = frozenset()
    dialogue: str = ""
    turn: int = 0
    unanswerable: bool = False
    expects: Expected | None = None
    route: str = ""
    input: str = ""
    searches: tuple[str, ...] = ()
    by_rules: bool = False

    @property
    def places(self) -> tuple[Place, ...]:
        """The alternatives of all groups, in their order."""
        return tuple(place for group in self.evidence for place in group.alternatives)

    @property
    def ranked(self) -> tuple[Evidence, ...]:
        """The groups that rankings are measured by: none for a question that records answer."""
        return () if self.route == "records" else tuple(group for group in self.evidence if group.grade > 0)

    @property
    def has_gold(self) -> bool:
        """True if the places of the answer in the corpus are known."""
        return any(group.grade > 0 for group in self.evidence)

    @property
    def to_decline(self) -> bool:
        """True if the corpus cannot answer this, so that it is right to decline. Pleasantries have a reply of their own."""
        return not self.has_gold and self.input not in REPLIED and (self.unanswerable or not self.answers)
