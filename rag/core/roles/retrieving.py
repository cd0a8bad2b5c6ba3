"""The Protocols of retrieval: from documents to a ranking of chunks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Allowed, Arrays, Document, Example, Span, Vectors


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


@runtime_checkable
class TokenOffsets(Protocol):
    """An Embedder that shows its tokens, which `chunker=token` needs."""

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters [start, end) of every token of `text`, in order, without special tokens, nothing cut off."""
        ...


@runtime_checkable
class Windowed(TokenOffsets, Protocol):
    """An Embedder or a Reranker with a known window; for any other one the unread part of passages is not known."""

    def window(self) -> int | None:
        """The number of tokens of a passage that the model reads, as `token_offsets` counts them; None for all.

        It loads and fetches no model, for a plan calls it. UserError if it is not known yet.
        """
        ...


@runtime_checkable
class Scaled(Protocol):
    """An Embedder that says what its cosines mean."""

    def unrelated(self) -> float:
        """The cosine below which a question and a passage have nothing to do with each other."""
        ...


class Searcher(Protocol):
    """An index, opened."""

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """The best `depth` positions for each question; `vectors` only where the index uses them.

        Where `allowed` is given, no other position is found, and none that is allowed is missed for one that is not: the
        ranking is that of all positions without those that are not allowed.
        """
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
    """Drops or widens what was ranked. Several of them stand in a list, and each is given what the one before it left."""

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Fewer hits (`Rankings.where`), or the same hits with neighbours that have the rank and the score of their hit."""
        ...
