"""The Protocols of retrieval: from documents to a ranking of chunks."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.source_files import Decision, SourceFile
from rag.core.types import Allowed, Arrays, Document, Example, Parsed, Span, Vectors


@runtime_checkable
class Fingerprinted(Protocol):
    """A component with a model."""

    def fingerprint(self) -> str:
        """The sha256 of the weights, or `name@revision`; the model is not loaded."""


@runtime_checkable
class Loader(Protocol):
    """Reads the documents of a corpus."""

    def load(self) -> Iterator[Document]:
        """Yield every document; DataError names the file, and the line if there is one."""


@runtime_checkable
class Parser(Protocol):
    """Reads files of some formats. `suffixes` are their suffixes in lower case, without the dot.

    A parser runs in a process of its own, with limits, unless `in_process` is True: then it only decodes text. That process
    builds it again: a parser keeps every parameter of its constructor as an attribute of the same name.
    """

    suffixes: ClassVar[tuple[str, ...]]
    in_process: ClassVar[bool]

    def parse(self, data: bytes, name: str) -> Parsed:
        """The content of the file `name`; DataError if the file cannot be read. Nothing is run and nothing is fetched."""


@runtime_checkable
class Redactor(Protocol):
    """Finds values that must not be stored."""

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """The values as (start, end, rule) in reading order; they do not overlap."""


@runtime_checkable
class IngestionRules(Protocol):
    """Decides which files of a folder become documents.

    `purpose` says in a sentence what the corpus is for; `keys` are the keys of the rules, in their order.
    """

    purpose: str
    keys: Sequence[str]

    def decide(self, file: SourceFile) -> Decision | None:
        """The decision, or None where it depends on the text and `file.text` is None."""


@runtime_checkable
class NoiseFilter(Protocol):
    """Finds text that is no content, such as page headers."""

    def find(self, documents: Sequence[Document]) -> list[list[tuple[int, int, str]]]:
        """The noise of each document of a corpus as (start, end, rule) in reading order; documents without blocks have none."""


@runtime_checkable
class Questions(Protocol):
    """Reads golden questions; gold is checked against the documents of the Loader."""

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield every question in file order; DataError names file, line and quote."""


@runtime_checkable
class Chunker(Protocol):
    """Cuts a document into spans."""

    def chunk(self, document: Document) -> list[Span]:
        """Spans in reading order (start and end never decrease) that together cover every character but white space."""


@runtime_checkable
class PassageText(Protocol):
    """Writes what indexes, embedder and reranker read for a chunk; prompts and citations quote the chunk itself.

    One that asks a model may have `written(corpus)`, too: by position the text, the reason if the model was of no help (else
    an empty text), and `rag.core.assessments.Spent`.
    """

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """One text per chunk, by position, with all words of the chunk."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. The pipeline normalises them to length 1 and checks them for NaN."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of passages, shape (texts, dimensions); each depends on its own text only."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, shape (texts, dimensions)."""


@runtime_checkable
class TokenOffsets(Protocol):
    """An Embedder that shows its tokens, which `chunker=token` needs."""

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters [start, end) of every token of `text`, in order, without special tokens, nothing cut off."""


@runtime_checkable
class Windowed(TokenOffsets, Protocol):
    """An Embedder or a Reranker with a known window; for any other one the unread part of passages is not known."""

    def window(self) -> int | None:
        """The number of tokens of a passage that the model reads, as `token_offsets` counts them; None for all.

        It loads and fetches no model, for a plan calls it. UserError if it is not known yet.
        """


@runtime_checkable
class Scaled(Protocol):
    """An Embedder that can interpret its cosines."""

    def unrelated(self) -> float | None:
        """The cosine below which a question and a passage are not related; None if it is not known."""


@runtime_checkable
class Analyser(Protocol):
    """Cuts texts into the terms of a word index."""

    def number(self, texts: Sequence[str]) -> tuple[list[list[int]], list[str]]:
        """The terms of every text of an index as numbers, repeats included, and the terms by their number."""

    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        """The terms of a question to an index with the terms `known`, repeats included; without `known` all terms of a text."""


class Searcher(Protocol):
    """An index, opened."""

    def search(self, texts: Sequence[str], vectors: Vectors | None, depth: int, allowed: Allowed | None = None) -> Rankings:
        """The best `depth` positions for each question; `vectors` only where the index uses them.

        With `allowed` the result is the ranking of all positions without those that are not allowed.
        """


@runtime_checkable
class Index(Protocol):
    """Finds chunks. `uses_vectors`: it reads unit vectors; otherwise it reads texts."""

    uses_vectors: ClassVar[bool]

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> Arrays:
        """All data of a search as arrays; row i of either input is the chunk at position i."""

    def open(self, arrays: Arrays) -> Searcher:
        """Make built arrays searchable."""


@runtime_checkable
class Fusion(Protocol):
    """Combines the rankings of several indexes."""

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        """One ranking of those by index name, in the order of the config; no position is added."""


@runtime_checkable
class ChecksIndexes(Protocol):
    """A Fusion that cannot fuse every set of indexes."""

    def check(self, names: Sequence[str]) -> None:
        """ConfigError for names of indexes that it cannot fuse."""


@runtime_checkable
class Reranker(Protocol):
    """Scores candidates a second time. `pairwise` scores depend only on query and passage, and are stored by pair."""

    pairwise: ClassVar[bool]

    def score(
        self, queries: Sequence[str], passages: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """A new score for every passage of every query, higher is better; `scores` are the present ones."""


@runtime_checkable
class Selector(Protocol):
    """Drops hits, orders them, or adds chunks to them. A trial may have a list; each gets the rankings of the one before it.

    A class says `reorders = True` or `widens = True`; one that orders comes before those that add chunks.
    """

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """Fewer hits (`Rankings.where`), all with new scores (`rescored`), or chunks added to them (`widened`)."""


@runtime_checkable
class QuestionSelector(Protocol):
    """A selector that compares hits with their question: it drops hits, and says why."""

    def select_for(self, questions: Sequence[str], rankings: Rankings, corpus: Corpus) -> Rankings:
        """Fewer hits (`Rankings.where`) of each question, at least one where there was one."""

    def reason(self, question: str, position: int, ranking: Rankings, corpus: Corpus) -> str:
        """Why a hit of the ranking of one question is dropped; empty if it is kept."""
