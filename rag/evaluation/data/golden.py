"""A corpus with its golden questions: loaded, checked, split and digested."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath

from rag.core.errors import DataError, UserError, closest, together
from rag.core.roles import Loader, Questions, Redactor
from rag.core.source_files import suffix_of
from rag.core.types import FATES, SPLITS, Anchor, Document, Evidence, Example, Span, document_of, spans_of
from rag.documents.anchors.quote_anchors import Documents, find_document
from rag.documents.clean.noise import Dropped
from rag.documents.clean.redact import redacted_questions
from rag.documents.folder.file_tree import Skipped, SkippedWarning, tally
from rag.documents.folder.files import gathered
from rag.evaluation.data.golden_digests import asked_fields, digest, document_fields, query_fields, question_fields

LEAST, CLUSTERS = 100, 20
"""Questions and clusters that a dataset without splits needs for a holdout.

Measured on six sets (docs/statistics.md): with fewer than 100 questions, tuning on half of them costs .004 nDCG@10 or more.
"""


@dataclass(frozen=True)
class Golden:
    """Documents sorted by doc_id, and questions in the order of their file, each with a split and a cluster.

    `dealt` counts the questions of each split if the dataset names no splits: clusters are dealt to `tune` and `holdout` by
    their hash, or all are `tune` if there are too few. `skipped` are files of the corpus that were not read. `sampled` is a
    sentence on the sample that the questions are; empty for all.
    """

    documents: tuple[Document, ...]
    examples: tuple[Example, ...]
    dealt: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    sampled: str = ""

    def split(self, name: str) -> "Golden":
        """The set with the questions of one split only; `all` is the whole set. Raise DataError for an empty split."""
        if name == "all":
            return self
        kept = tuple(example for example in self.examples if example.split == name)
        if not kept:
            if self.dealt and name in SPLITS:
                remedy = "ask for all: split=all, in a gate split: all"
                raise DataError("split", f"no question is in {name!r}. {self.dealing}", remedy)
            listed = ", ".join(f"{split} ({count} questions)" for split, count in sorted(self.sizes.items()))
            raise DataError("split", f"no question is in {name!r}", f"{closest(name, {'all', *self.sizes})}; it has {listed}")
        return replace(self, examples=kept)

    @property
    def sizes(self) -> dict[str, int]:
        """Questions per split."""
        return dict(Counter(example.split for example in self.examples))

    @property
    def dealing(self) -> str:
        """A sentence about how questions were dealt to splits; empty if the dataset names its splits."""
        if not self.dealt:
            return ""
        count = sum(self.dealt.values())
        first = f"The {count} questions name no split"
        if count == 1:
            return "There is one question: a verdict needs more, in several clusters."
        if len(self.dealt) == 1:
            return f"{first}, and fewer than {LEAST} questions or {CLUSTERS} clusters are too few for a holdout."
        tune, holdout = (self.dealt[name] for name in SPLITS)
        return f"{first}: {tune} were dealt to tune and {holdout} to holdout, by cluster; split=all asks all of them."

    @cached_property
    def characters(self) -> int:
        """The total length of all documents."""
        return sum(len(document.text) for document in self.documents)

    @cached_property
    def suffixes(self) -> frozenset[str]:
        """The suffixes of the names of all documents, in lower case without the dot."""
        return frozenset(suffix_of(PurePosixPath(document.doc_id)) for document in self.documents)

    @cached_property
    def corpus_digest(self) -> str:
        """SHA-256 over names, texts, metadata, blocks and redactions of all documents, independent of the order of loading."""
        return digest(map(document_fields, self.documents))

    @cached_property
    def queries_digest(self) -> str:
        """SHA-256 over ids, texts and histories of the questions, in their order, without gold."""
        return digest(query_fields(example.query) for example in self.examples)

    @cached_property
    def golden_digest(self) -> str:
        """SHA-256 over all fields of the questions, in their order, which is that of the rows of results."""
        return digest(question_fields(example) for example in self.examples)

    @cached_property
    def asked_digest(self) -> str:
        """The golden digest with quotes as they are asked: the same for every parser and redactor of a corpus."""
        return digest(asked_fields(example) for example in self.examples)

    @cached_property
    def fates(self) -> dict[str, int]:
        """The numbers of quotes by fate, in the order of FATES, without zeros; quotes in the texts of files are exact."""
        quotes = (place for example in self.examples for place in example.places if not isinstance(place, str))
        found = Counter(quote.fate if isinstance(quote, Anchor) else "exact" for quote in quotes)
        return {fate: found[fate] for fate in FATES if found[fate]}

    @property
    def by_digest(self) -> dict[str, "Golden"]:
        """This set under each of its three digests, as the stages of a graph look it up."""
        return dict.fromkeys((self.corpus_digest, self.queries_digest, self.golden_digest), self)


@dataclass(frozen=True)
class Loaded:
    """A corpus in memory, in place of the loader that read it."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    dropped: Mapping[str, Sequence[Dropped]] = field(default_factory=dict)
    redactor: Redactor | None = None

    @classmethod
    def of(cls, loader: Loader) -> "Loaded":
        """The corpus of a loader as `load_documents` reads it."""
        documents = load_documents(loader)
        return cls(documents, skipped_by(loader), getattr(loader, "dropped", {}), getattr(loader, "redactor", None))

    def load(self) -> Iterator[Document]:
        """The documents."""
        return iter(self.documents)


def gold_spans(example: Example) -> list[Span]:
    """The spans in the evidence of a question, each once, in their order; without quotes in pieces."""
    return list(dict.fromkeys(spans[0] for place in example.places if len(spans := spans_of(place)) == 1))


def gold_documents(example: Example) -> list[str]:
    """The documents that hold the evidence of a question, each once, in their order."""
    return list(dict.fromkeys(map(document_of, example.places)))


def load_documents(loader: Loader) -> tuple[Document, ...]:
    """A corpus sorted by doc_id; raise DataError if it is empty or two documents have one name.

    A SkippedWarning counts the files that the loader did not read.
    """
    documents: dict[str, Document] = {}
    for document in loader.load():
        if document.doc_id in documents:
            raise DataError("documents", f"two documents are named {document.doc_id!r}", "rename or remove one of them")
        documents[document.doc_id] = document
    if not any(document.text.strip() for document in documents.values()):
        what = f"none of {len(documents)} documents has text" if documents else "the corpus is empty"
        raise DataError("documents", what, "check loader.path and dataset.path")
    if skipped := skipped_by(loader):
        what = f"corpus: {tally(len(documents), skipped)}. `rag data check` lists them"
        warnings.warn(SkippedWarning(what, digest([*sorted(documents), *map(str, sorted(skipped))])), stacklevel=2)
    return tuple(documents[doc_id] for doc_id in sorted(documents))


def documents_of(loader: Loader) -> Documents:
    """The corpus of a loader as `load_documents` reads it, with what was not read or dropped as noise, and its redactor."""
    read = Loaded.of(loader)
    reasons = {file.name: file.detail or file.reason for file in read.skipped}
    unread = frozenset(file.name for file in read.skipped if file.wanted)
    return Documents(read.documents, reasons, read.dropped, unread, read.redactor)


def load(loader: Loader, questions: Questions) -> Golden:
    """Load a corpus and its questions and check that they fit; raise all problems as one error.

    LEAST or more questions without a split, in CLUSTERS or more clusters, are dealt to `tune` and `holdout`, about half each,
    by the SHA-256 of their cluster: the same on every machine, a cluster never in both, and added questions move no others.
    Nothing is stratified. Fewer questions are all `tune`.
    """
    return of_documents(documents_of(loader), questions, skipped_by(loader))


def of_documents(documents: Documents, questions: Questions, skipped: tuple[Skipped, ...] = ()) -> Golden:
    """The same for a corpus that is loaded already."""
    examples = _checked(questions, documents)
    if documents.redactor:
        examples = redacted_questions(examples, documents.redactor)
    enough = len(examples) >= LEAST and len({example.cluster or example.query.query_id for example in examples}) >= CLUSTERS
    clustered = (replace(example, cluster=example.cluster or example.query.query_id) for example in examples)
    usual = dealt_split if enough else lambda _: SPLITS[0]
    placed = tuple(replace(each, split=each.split or usual(each.cluster)) for each in clustered)
    dealt = {} if any(example.split for example in examples) else dict(sorted(Counter(e.split for e in placed).items()))
    return Golden(tuple(documents.values()), placed, dealt, skipped)


def skipped_by(loader: Loader) -> tuple[Skipped, ...]:
    """The files that a loader did not read in its last load."""
    return tuple(getattr(loader, "skipped", ()))


def dealt_split(cluster: str) -> str:
    """The split of a cluster, by its hash."""
    return SPLITS[hashlib.sha256(cluster.encode("utf-8")).digest()[0] % 2]


def _checked(questions: Questions, documents: Documents) -> tuple[Example, ...]:
    examples: list[Example] = []
    problems: list[UserError] = []
    with gathered(problems):
        examples.extend(questions.read(documents))
    problems += _problems(examples, documents)
    if not examples and not problems:
        problems.append(DataError("questions", "there is no question", "check dataset.path"))
    if problems:
        raise together(problems)
    return tuple(examples)


def _problems(examples: Sequence[Example], documents: Documents) -> Iterator[UserError]:
    repeated = [query_id for query_id, count in Counter(e.query.query_id for e in examples).items() if count > 1]
    for query_id in repeated:
        yield DataError("questions", f"several questions have the id {query_id!r}", "give every question its own id")
    without = [example.query.query_id for example in examples if not example.split]
    if 0 < len(without) < len(examples):
        what = f"{len(without)} of {len(examples)} questions have no split, the first is {without[0]!r}"
        yield DataError("questions", what, "give every question a split, or none")
    problems: list[UserError] = []
    for example in examples:
        for group in example.evidence:
            with gathered(problems):
                _check_group(group, documents, f"question {example.query.query_id!r}")
    yield from problems


def _check_group(group: Evidence, documents: Mapping[str, Document], where: str) -> None:
    if not group.alternatives or group.grade < 1:
        what = f"an evidence group has {len(group.alternatives)} places and grade {group.grade}"
        raise DataError(where, what, "give it a place and a grade of 1 or more")
    for place in group.alternatives:
        if isinstance(place, Anchor) and not place.spans:
            continue
        document = find_document(document_of(place), documents, where)
        for span in spans_of(place):
            if not 0 <= span.start < span.end <= len(document.text):
                what = f"the span {span.start} to {span.end} lies outside {document.doc_id!r} ({len(document.text)} characters)"
                raise DataError(where, what, "offsets count characters from 0, end exclusive")
