"""A part of a data set: some of its questions, and the documents that hold their evidence."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from rag.core.checks import check_whole
from rag.core.errors import DataError
from rag.core.roles import Loader, Questions
from rag.core.types import Document, Example, document_of


class DataSlice:
    """At most `most` questions of a data set, in whole clusters, and the documents with the evidence of these questions.

    Clusters are taken by the SHA-256 of their name until the next one has too many questions, so that a larger part holds the
    smaller one. Fewer documents make questions easier: scores are not those of the whole set.
    """

    def __init__(self, documents: Loader, questions: Questions, most: int) -> None:
        check_whole("dataset.others.most", most, 1)
        self.documents, self.questions, self.most = documents, questions, most

    def load(self) -> Iterator[Document]:
        """Yield the documents of the part, in the order of the data set."""
        examples = self._examples
        kept = {document_of(place) for example in examples for place in example.places}
        yield from (document for document in self._documents.values() if document.doc_id in kept)

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield the questions of the part, in the order of the data set; DataError if one of its documents is missing."""
        for doc_id in {document_of(place) for example in self._examples for place in example.places}:
            if documents.get(doc_id) != self._documents[doc_id]:
                raise DataError("dataset.others", f"{doc_id!r} is not a document of the loader", "set loader=mixed")
        yield from self._examples

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.doc_id: document for document in self.documents.load()}

    @cached_property
    def _examples(self) -> tuple[Example, ...]:
        clusters: dict[str, list[Example]] = {}
        for example in self.questions.read(self._documents):
            clusters.setdefault(example.cluster or example.query.query_id, []).append(example)
        taken: set[str] = set()
        left = self.most
        for name in sorted(clusters, key=lambda name: hashlib.sha256(name.encode("utf-8")).digest()):
            left -= len(clusters[name])
            if left < 0:
                break
            taken.add(name)
        if not taken:
            raise DataError("dataset.others", f"no cluster has at most {self.most} questions", "raise `most`")
        return tuple(example for name, examples in clusters.items() if name in taken for example in examples)
