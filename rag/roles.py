"""One Protocol per role. A choice is a class that fits one of them and a YAML in `conf/<role>/` that names it.

Constructors check their parameters, are cheap, and load nothing: a plan builds every component of every trial. A model is
loaded at the first call. Batches go in and come out; one question is a batch of one.

Class attributes that any component may set: `changes_nothing = True` marks the choice `none` of a role, which has no stage of
its own; `fingerprint()` names the model behind it without loading it (sha256 of the weights, or `name@revision`). A Fusion
may have `check(names)`, which raises ConfigError for indexes that it cannot fuse. A Generator whose replies cost time or money
sets `costly = True`: they are then kept one by one, and `spending(questions, k)` estimates their (tokens, US dollars). It may
also have `expected(request)`, the same for one request, by which a budget is kept; `sent(request)`, everything that its server
is told, under which a reply is kept whatever becomes of the code; and `attempts(requests)`, which gives a UserError in place of
a reply instead of raising it, so that the replies before it are kept. One that looks at reference answers sets
`reads_gold = True`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rag.claims import Assessment, Case, Verdict
from rag.corpus import Corpus
from rag.rankings import Rankings
from rag.records import (
    Answer,
    Arrays,
    Document,
    Example,
    Finding,
    Framed,
    Material,
    Message,
    Query,
    Ranking,
    Recalled,
    Reply,
    Request,
    Sought,
    Span,
    Vectors,
)


@runtime_checkable
class Loader(Protocol):
    """Reads the documents of a corpus."""

    def load(self) -> Iterator[Document]:
        """Yield every document; raise DataError naming the file, and the line where there is one."""
        ...


@runtime_checkable
class Questions(Protocol):
    """Reads golden questions; gold is checked against the documents that a Loader gave."""

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield every question in file order; raise DataError naming file, line and quote."""
        ...


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document into spans."""

    def chunk(self, document: Document) -> list[Span]:
        """Spans in reading order (start and end never step back) that together cover every character but white space."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. The pipeline normalises them to length 1 and checks them for NaN."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape (texts, dimensions); each depends on its own text only."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, shape (texts, dimensions)."""
        ...


class Searcher(Protocol):
    """An index, opened."""

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int) -> Rankings:
        """The best `depth` positions for each question; `vectors` only where the index uses them."""
        ...


@runtime_checkable
class Index(Protocol):
    """Finds chunks. `uses_vectors` says whether it reads vectors (unit length) or texts."""

    uses_vectors: ClassVar[bool]

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """Everything a search needs, as arrays; row i of either input is the chunk at position i."""
        ...

    def open(self, arrays: Arrays) -> Searcher:
        """Make built arrays searchable."""
        ...


@runtime_checkable
class Fusion(Protocol):
    """Makes one ranking of those of several indexes."""

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        """Fuse by index name, in the order of the config; nothing is added that no index found."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores candidates a second time. `pairwise` scores depend on (query, passage) only and are stored by that pair."""

    pairwise: ClassVar[bool]

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A new score for every passage of every query, higher is better; `scores` are those that ranked them so far."""
        ...


@runtime_checkable
class Selector(Protocol):
    """Drops or widens what was ranked."""

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Fewer hits, or the same hits with their neighbours around them."""
        ...


@runtime_checkable
class Rewriter(Protocol):
    """Says what is searched for on behalf of a question and the turns before it."""

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """One per query; what depends on a model falls back to the question as it was typed, and says so."""
        ...


@runtime_checkable
class Memory(Protocol):
    """Chooses what a model is shown of the turns before a question."""

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """One per query; it depends on nothing but the query and its history."""
        ...


@runtime_checkable
class Screen(Protocol):
    """A check or guard that looks at what was found before a model does."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """Findings per question; `quarantine` takes a context out, `abstain` keeps the model from being asked."""
        ...


@runtime_checkable
class Framing(Protocol):
    """A guard that changes how contexts are shown to a model."""

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """As many contexts as were given, in their order."""
        ...


@runtime_checkable
class Inspection(Protocol):
    """A check or guard that looks at replies."""

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """Findings per reply: `flag`, `remove` (a span of the reply), `refuse` or `regenerate`."""
        ...


@runtime_checkable
class Prompt(Protocol):
    """Lays out a question and its material for a model."""

    @property
    def refusal(self) -> str:
        """The sentence that says that there is no answer; empty for none."""
        ...

    def render(self, material: Material) -> tuple[Message, ...]:
        """The exact messages; contexts are numbered from 1."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Answers from contexts."""

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in order."""
        ...

    def stream(self, request: Request) -> Iterator[str]:
        """The reply to one request in pieces, as they come; joined they are its text."""
        ...


class Judgements(Protocol):
    """What ranking metrics read, for n questions at once; `rag.judging.Judged` says how it is counted.

    An *item* is a chunk, or a document where all gold of the question is whole documents. Items are ordered by rank (from 1),
    columns of [n, D] arrays are ranks; groups are in the order of the evidence.
    """

    @property
    def group_ranks(self) -> NDArray[np.int32]:
        """[n, G]: the rank at which a group is satisfied, 0 if it never is, -1 beyond the last group of the question."""
        ...

    @property
    def grades(self) -> NDArray[np.float64]:
        """[n, G]: the grade of a group, 0 beyond the last one."""
        ...

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """[n, D]: whether the item at a rank is relevant."""
        ...

    @property
    def judged(self) -> NDArray[np.bool_]:
        """[n, D]: whether somebody looked at the document of the item for this question."""
        ...

    @property
    def gold_seen(self) -> NDArray[np.int64]:
        """[n, D]: different gold characters in the items up to a rank."""
        ...

    @property
    def chars_seen(self) -> NDArray[np.int64]:
        """[n, D]: different characters in the items up to a rank."""
        ...

    @property
    def chars_read(self) -> NDArray[np.int64]:
        """[n, D]: characters in the items up to a rank, those that overlapping chunks repeat counted again."""
        ...

    @property
    def gold_chars(self) -> NDArray[np.int64]:
        """[n]: all gold characters of a question, 0 where its gold is not characters."""
        ...

    @property
    def items(self) -> NDArray[np.int64]:
        """[n]: the length of the ranking."""
        ...

    @property
    def answerable(self) -> NDArray[np.bool_]:
        """[n]: whether the question has gold."""
        ...


@runtime_checkable
class RankingMetric(Protocol):
    """Measures rankings against gold at a cut-off."""

    def score(self, judged: Judgements, cut: NDArray[np.int64]) -> NDArray[np.float64]:
        """One value in [0, 1] per question, NaN where there is no gold; `cut[q]` is the last rank that counts."""
        ...


@runtime_checkable
class AnswerMetric(Protocol):
    """Measures one answer against what the golden set says of its question."""

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN where it does not apply."""
        ...


@runtime_checkable
class AssessedMetric(Protocol):
    """Measures one answer by what a judge says of it. Its class sets `needs`, those of `rag.claims.PARTS` that it reads."""

    needs: ClassVar[tuple[str, ...]]

    def assess(self, answer: Answer, assessment: Assessment) -> float:
        """A value in [0, 1]; NaN where it does not apply, or where the judge failed."""
        ...


@runtime_checkable
class Judge(Protocol):
    """Says how far texts follow from their contexts. `threshold` is the support from which a claim counts as supported."""

    @property
    def threshold(self) -> float:
        """A support in [0, 1], for those who need yes or no."""
        ...

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, which depends on nothing but that case. What cannot be judged is counted, never left out."""
        ...

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How far the text of each (question, text) speaks to the question, in [0, 1]; NaN for a failure."""
        ...


ROLES: Mapping[str, type] = {
    "loader": Loader,
    "dataset": Questions,
    "chunker": Chunker,
    "embedder": Embedder,
    "index": Index,
    "fusion": Fusion,
    "reranker": Reranker,
    "selector": Selector,
    "queries": Rewriter,
    "memory": Memory,
    "prompt": Prompt,
    "generator": Generator,
    "judge": Judge,
}
"""Config group → the Protocol that its choices fit."""

SEVERAL: Mapping[str, tuple[type, ...]] = {
    "metric": (RankingMetric, AnswerMetric, AssessedMetric),
    "check": (Screen, Inspection),
    "guard": (Screen, Framing, Inspection),
}
"""Config groups of which a trial chooses any number by name → the Protocols of which their choices fit one or more."""


def changes_nothing(component: object) -> bool:
    """Whether a component is the `none` of its role."""
    return bool(getattr(component, "changes_nothing", False))


def fingerprint(component: object) -> str:
    """The model behind a component, empty if there is none."""
    name = getattr(component, "fingerprint", None)
    return str(name()) if name else ""
