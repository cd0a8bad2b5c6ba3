"""Files that replace the search, and files that are never read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.text.tokens import count
from rag.core.types import Document
from rag.pipeline.prompt.cut_marks import OUTLINE
from rag.pipeline.search.retrieval import LOCKED, Narrowed


def named(where: str, names: Sequence[str], documents: Sequence[Document], globs: bool = True) -> tuple[Document, ...]:
    """The documents of doc_ids and, with `globs`, of patterns such as `policies/*`; ConfigError for one without a document."""
    by_name = {document.doc_id: document for document in documents} if names else {}
    found = dict[str, Document]()
    for name in names:
        fits = [name] if name in by_name else [each for each in by_name if globs and fnmatchcase(each, name)]
        if not fits:
            # There may be thousands of documents: name a few.
            known = get_close_matches(name, by_name, n=5, cutoff=0.3) or list(by_name)[:5]
            raise ConfigError(where, f"there is no document {name!r}", f"a doc_id, for example {', '.join(known)}")
        found |= {each: by_name[each] for each in fits}
    return tuple(found.values())


def chosen(
    lock: Sequence[str], exclude: Sequence[str], pins: Sequence[str], documents: Sequence[Document]
) -> tuple[list[str], frozenset[str]]:
    """The doc_ids of locked files, and of excluded documents; ConfigError as `named`, and for an excluded pin."""
    gone = frozenset(document.doc_id for document in named("exclude", exclude, documents))
    if both := [name for name in pins if name in gone]:
        raise ConfigError("pinned", f"{both[0]!r} is excluded", "leave it out of pinned, or of exclude")
    files = named("lock", lock, [document for document in documents if document.doc_id not in gone])
    return [document.doc_id for document in files], gone


def limited(pipeline: Narrowed, lock: Sequence[str], exclude: Sequence[str]) -> Narrowed:
    """The pipeline without the documents of `exclude`, reading the files of `lock` if there are any; ConfigError as `chosen`.

    Files that fit into `context_tokens` are read whole and nothing is searched for. Otherwise their sections that match the
    question best are read, with marks that name the sections between them.
    """
    corpus, pins = pipeline.corpus, [document.doc_id for document in pipeline.reading.pinned]
    files, gone = chosen(lock, [*exclude, *sorted(pipeline.excluded)], pins, corpus.documents)
    if gone:
        open_ = np.array([document.doc_id not in gone for document in corpus.documents])[corpus.doc]
        pipeline = replace(pipeline, excluded=gone, allowed=open_ if pipeline.allowed is None else open_ & pipeline.allowed)
    return _locked(pipeline, [corpus.place(name) or 0 for name in files]) if files else pipeline


def read_whole(documents: Iterable[Document], tokens: int | None) -> bool:
    """Whether files are read from end to end, so that nothing is searched for."""
    return tokens is None or sum(count(document.text) for document in documents) <= tokens


def _locked(pipeline: Narrowed, rows: Sequence[int]) -> Narrowed:
    corpus, tokens = pipeline.corpus, pipeline.reading.context_tokens
    own = {row: range(len(corpus))[corpus.of_document(row)] for row in rows}
    whole = read_whole((corpus.documents[row] for row in rows), tokens)
    reading = replace(pipeline.reading, locked=True)
    room = None if whole or tokens is None else tokens - tokens // OUTLINE
    selectors = {"lock": LockedFiles(tuple(own.values()), room)}
    allowed = np.isin(corpus.doc, rows)
    links = tuple(name for name in pipeline.links if name in LOCKED and not (whole and name in ("rewrite", "search")))
    return replace(pipeline, links=links, selectors=selectors, reading=reading, allowed=allowed)


@dataclass(frozen=True)
class LockedFiles:
    """Reads the chunks of files, all at rank 1: all of them, or those of the best sections within `tokens` tokens.

    `files` are the positions of each file's chunks. Each file has a part in the prompt; where sections that were found leave
    room, files are read from their beginning.
    """

    files: tuple[range, ...]
    tokens: int | None

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The chunks of the files in reading order, for every question."""
        rows = [[each for each, _ in rankings.row(question)] for question in range(len(rankings))]
        chosen = [self._chosen(row, corpus) for row in rows]
        read = [[(place, 1.0) for places in self.files for place in places if place in kept] for kept in chosen]
        packed = Rankings.pack(read)
        hits = packed.positions >= 0
        return Rankings(packed.positions, packed.scores, hits.astype(np.int32), hits)

    def _chosen(self, found: Sequence[int], corpus: Corpus) -> set[int]:
        everything = [place for places in self.files for place in places]
        if self.tokens is None:
            return set(everything)
        kept, room = set[int](), self.tokens
        firsts = [next((place for place in found if place in places), places[0]) for places in self.files if places]
        for place in (*firsts, *found, *everything):
            first, last = corpus.section_mates(place)
            for wanted in (set(range(first, last + 1)) - kept, {place} - kept):
                size = sum(count(corpus.text(each)) for each in wanted)
                if size <= room or (not kept and len(wanted) == 1):
                    kept |= wanted
                    room -= size
                    break
        return kept
