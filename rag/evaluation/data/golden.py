"""A corpus with its golden questions: loaded, checked, split, and known by digests of what it says."""

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

from rag.components.loaders.file_tree import Skipped, SkippedWarning, tally
from rag.components.loaders.files import gathered
from rag.components.loaders.quote_anchors import Documents, find_document
from rag.core.errors import DataError, UserError, closest, together
from rag.core.records import SPLITS, Document, Evidence, Example, Span
from rag.core.roles import Loader, Questions

"""The names that questions are dealt to when their dataset has no splits of its own."""
LEAST, CLUSTERS = 100, 20
"""Questions and clusters that a dataset without splits needs before some are kept back.

Measured on six sets (docs/statistics.md): below 100 questions, to choose by half of them costs .004 nDCG@10 or more.
"""


@dataclass(frozen=True)
class Golden:
    """Documents sorted by doc_id, and questions in the order of their file, each with a split and a cluster.

    `dealt` counts the questions of each split where the dataset named none: clusters were dealt to `tune` and `holdout` by
    their hash, or all are `tune` because they are too few. `skipped` are files of the corpus that were not read.
    """

    documents: tuple[Document, ...]
    examples: tuple[Example, ...]
    dealt: Mapping[str, int] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()

    def split(self, name: str) -> "Golden":
        """The questions of one split over the same documents; `all` is everything. Raise DataError for an empty split."""
        if name == "all":
            return self
        kept = tuple(example for example in self.examples if example.split == name)
        if not kept:
            if self.dealt and name in SPLITS:
                raise DataError(
                    "split", f"no question is in {name!r}. {self.dealing}", "ask for all: split=all, in a gate split: all"
                )
            listed = ", ".join(f"{split} ({count} questions)" for split, count in sorted(self.sizes.items()))
            raise DataError("split", f"no question is in {name!r}", f"{closest(name, {'all', *self.sizes})}; it has {listed}")
        return replace(self, examples=kept)

    @property
    def sizes(self) -> dict[str, int]:
        """Questions per split."""
        return dict(Counter(example.split for example in self.examples))

    @property
    def dealing(self) -> str:
        """A sentence on the splits that the dataset did not name; empty where it did."""
        if not self.dealt:
            return ""
        asked = sum(self.dealt.values())
        first = f"The {asked} questions name no split"
        if asked == 1:
            return "There is one question: a verdict needs more, in several clusters."
        if len(self.dealt) == 1:
            return f"{first}, and fewer than {LEAST} questions or {CLUSTERS} clusters are too few to keep some back."
        tune, holdout = (self.dealt[name] for name in SPLITS)
        return f"{first}: {tune} were dealt to tune and {holdout} to holdout, by cluster; split=all asks all of them."

    @cached_property
    def characters(self) -> int:
        """The length of all documents together."""
        return sum(len(document.text) for document in self.documents)

    @cached_property
    def corpus_digest(self) -> str:
        """SHA-256 over names, texts and metadata of all documents, whatever order they were loaded in."""
        return _digest((document.doc_id, document.text, dict(document.metadata)) for document in self.documents)

    @cached_property
    def queries_digest(self) -> str:
        """SHA-256 over what is asked: ids, texts and histories, in their order, without any gold."""
        return _digest(asdict(example.query) for example in self.examples)

    @cached_property
    def golden_digest(self) -> str:
        """SHA-256 over everything the questions say, in their order: results are rows in that order."""
        return _digest(question_record(example) for example in self.examples)


def load_documents(loader: Loader) -> tuple[Document, ...]:
    """A corpus sorted by doc_id; raise DataError when it is empty or names two documents alike.

    A SkippedWarning counts the files that its loader did not read.
    """
    documents: dict[str, Document] = {}
    for document in loader.load():
        if document.doc_id in documents:
            raise DataError("documents", f"two documents are named {document.doc_id!r}", "rename or remove one of them")
        documents[document.doc_id] = document
    if not any(document.text.strip() for document in documents.values()):
        found = f"none of {len(documents)} documents holds text" if documents else "the corpus is empty"
        raise DataError("documents", found, "check loader.path and dataset.path")
    if skipped := skipped_by(loader):
        warnings.warn(f"corpus: {tally(len(documents), skipped)}. `rag dataset check` lists them", SkippedWarning, stacklevel=2)
    return tuple(documents[doc_id] for doc_id in sorted(documents))


def load(loader: Loader, questions: Questions) -> Golden:
    """Load a corpus and its questions and check that they fit; raise all that does not fit as one error.

    LEAST questions or more without a split, in CLUSTERS clusters or more, are dealt to `tune` and `holdout`, about half each,
    by the SHA-256 of their cluster: the same on every machine, a cluster never in both, and questions that are added later
    move no others. Nothing is stratified. Fewer are all `tune`.
    """
    documents, skipped = load_documents(loader), skipped_by(loader)
    ordered = Documents(documents, {one.name: one.detail or one.reason for one in skipped})
    examples = _sound(questions, ordered)
    enough = len(examples) >= LEAST and len({example.cluster or example.query.query_id for example in examples}) >= CLUSTERS
    placed = tuple(_placed(example, enough) for example in examples)
    dealt = {} if any(example.split for example in examples) else dict(sorted(Counter(e.split for e in placed).items()))
    return Golden(documents, placed, dealt, skipped)


def skipped_by(loader: Loader) -> tuple[Skipped, ...]:
    """The files that a loader did not read when it last loaded."""
    return tuple(getattr(loader, "skipped", ()))


def dealt_split(cluster: str) -> str:
    """The split that the hash of a cluster deals it to."""
    return SPLITS[hashlib.sha256(cluster.encode("utf-8")).digest()[0] % 2]


def _placed(example: Example, enough: bool) -> Example:
    cluster = example.cluster or example.query.query_id
    return replace(example, cluster=cluster, split=example.split or (dealt_split(cluster) if enough else SPLITS[0]))


def _sound(questions: Questions, documents: Documents) -> tuple[Example, ...]:
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
        found = f"{len(without)} of {len(examples)} questions have no split, the first is {without[0]!r}"
        yield DataError("questions", found, "give every question a split, or none")
    found_here: list[UserError] = []
    for example in examples:
        for group in example.evidence:
            with gathered(found_here):
                _check_group(group, documents, f"question {example.query.query_id!r}")
    yield from found_here


def _check_group(group: Evidence, documents: Mapping[str, Document], where: str) -> None:
    if not group.alternatives or group.grade < 1:
        found = f"an evidence group has {len(group.alternatives)} places and grade {group.grade}"
        raise DataError(where, found, "give it a place and a grade of 1 or more")
    for place in group.alternatives:
        document = find_document(place.doc_id if isinstance(place, Span) else place, documents, where)
        if isinstance(place, Span) and not 0 <= place.start < place.end <= len(document.text):
            found = f"the span {place.start} to {place.end} lies outside {document.doc_id!r} ({len(document.text)} characters)"
            raise DataError(where, found, "offsets count characters from 0, end exclusive")


def question_record(example: Example) -> dict[str, object]:
    """What a question says, as its digests count it."""
    said = {**asdict(example), "judged": sorted(example.judged)}
    if not example.unanswerable:
        del said["unanswerable"]  # Sets kept their digests when the field came.
    return said


def _digest(values: Iterable[object]) -> str:
    total = hashlib.sha256()
    for value in values:
        total.update(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n")
    return total.hexdigest()
