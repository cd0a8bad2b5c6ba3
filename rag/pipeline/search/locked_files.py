"""Files that replace the search, and files that are never read."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

import numpy as np

from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.text.tokens import count
from rag.core.types import Document
from rag.pipeline.prompt.cut_marks import OUTLINE
from rag.pipeline.search.retrieval import LOCKED, Narrowed

SHOWN = 5
"""The most names that an error or a proposal lists."""
LARGEST = 1_000_000
"""The most characters that are read of locked files without `context_tokens`: about 250,000 tokens."""


def named(where: str, names: Sequence[str], documents: Sequence[Document], globs: bool = True) -> tuple[Document, ...]:
    """The documents of doc_ids and, with `globs`, of file names in any folder and of patterns such as `policies/*`.

    ConfigError for a name without a document, and for a file name in several folders.
    """
    by_name = {document.doc_id: document for document in documents} if names else {}
    found = dict[str, Document]()
    for name in names:
        fits = [name] if name in by_name else [each for each in by_name if globs and fnmatchcase(each, name)]
        fits = fits or [each for each in by_name if globs and each.endswith(f"/{name}")]
        if len(fits) > 1 and all(each.endswith(f"/{name}") for each in fits):
            raise ConfigError(where, f"{len(fits)} files are named {name!r}", f"a doc_id: {', '.join(fits[:SHOWN])}")
        if not fits:
            raise ConfigError(where, *_missing(name, list(by_name)))
        found |= {each: by_name[each] for each in fits}
    return tuple(found.values())


def _missing(name: str, known: Sequence[str]) -> tuple[str, str]:
    """Why no document has a name, and what would do; no file outside of the documents is opened."""
    below = [each for each in known if each.startswith(f"{name.rstrip('/')}/")]
    if below:
        return f"{name!r} is a folder", f"its files: {shlex.quote(name.rstrip('/') + '/*')}"
    if PurePath(name).is_absolute() or ".." in PurePath(name).parts:
        return f"{name!r} is outside of the documents", "the path of a file within their folder; copy other files into it"
    close = get_close_matches(name, known, n=SHOWN, cutoff=0.3) or known[:SHOWN]  # There may be thousands of documents.
    return f"there is no document {name!r}", f"a doc_id, for example {', '.join(close)}"


def chosen(
    lock: Sequence[str],
    exclude: Sequence[str],
    pins: Sequence[str],
    documents: Sequence[Document],
    unread: Mapping[str, str] = MappingProxyType({}),
) -> tuple[tuple[Document, ...], frozenset[str]]:
    """The locked files, and the doc_ids of excluded documents; ConfigError as `named`, and for an excluded pin.

    `unread` says of files of the folder why they are no documents.
    """
    if lost := [name for name in lock if name in unread]:
        what = f"{lost[0]!r} is no document: {unread[lost[0]]}"
        raise ConfigError("lock", what, "`rag data check` lists the files that are not read")
    gone = frozenset(document.doc_id for document in named("exclude", exclude, documents))
    if both := [name for name in pins if name in gone]:
        raise ConfigError("pinned", f"{both[0]!r} is excluded", "leave it out of pinned, or of exclude")
    return named("lock", lock, [document for document in documents if document.doc_id not in gone]), gone


def locks_whole(
    config: Mapping[str, Any], documents: Sequence[Document], unread: Mapping[str, str] = MappingProxyType({})
) -> bool | None:
    """As `read_whole` of the locked files of a config; None without any. ConfigError also as `chosen`."""
    lock, exclude, pins = (config.get(name) or () for name in ("lock", "exclude", "pinned"))
    files, _ = chosen(lock, exclude, pins, documents, unread)
    return read_whole(files, config.get("context_tokens")) if files else None


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
    return locked(pipeline, [corpus.place(file.doc_id) or 0 for file in files]) if files else pipeline


def read_whole(documents: Sequence[Document], tokens: int | None) -> bool:
    """Whether files are read from end to end, so that nothing is searched for; ConfigError for more than LARGEST."""
    if tokens is not None:
        return sum(count(document.text) for document in documents) <= tokens
    if (size := sum(len(document.text) for document in documents)) > LARGEST:
        remedy = "context_tokens=8000 reads the best sections; or lock fewer or smaller files"
        raise ConfigError("lock", f"the files have {size:,} characters, and a prompt at most {LARGEST:,}", remedy)
    return True


def proposed(pipeline: Narrowed, question: str) -> list[str]:
    """The first SHOWN doc_ids of files whose names, with suffix, are in a question, but for locked and excluded files."""
    corpus, left, found = pipeline.corpus, question.casefold(), list[str]()
    locked = set(corpus.doc[pipeline.allowed].tolist()) if pipeline.reading.locked and pipeline.allowed is not None else ()
    open_ = [
        document.doc_id
        for row, document in enumerate(corpus.documents)
        if PurePath(document.doc_id).suffix and row not in locked and document.doc_id not in pipeline.excluded
    ]
    spelt = {name.casefold() for each in open_ for name in (each, PurePath(each).name)}
    for name in sorted((each for each in spelt if each in left), key=len, reverse=True):
        left, times = re.subn(rf"(?<![\w./\\-]){re.escape(name)}(?![\w/-]|\.\w)", " / ", left)
        found += [each for each in open_ if times and name in (each.casefold(), PurePath(each).name.casefold())]
    return list(dict.fromkeys(found))[:SHOWN]


def locked(pipeline: Narrowed, rows: Sequence[int]) -> Narrowed:
    """The pipeline that reads the files of these rows, as `limited`."""
    corpus, tokens = pipeline.corpus, pipeline.reading.context_tokens
    own = {row: range(len(corpus))[corpus.of_document(row)] for row in rows}
    whole = read_whole([corpus.documents[row] for row in rows], tokens)
    reading = replace(pipeline.reading, locked=True)
    room = None if whole or tokens is None else tokens - tokens // OUTLINE
    selectors = {"lock": LockedFiles(tuple(own.values()), room)}
    allowed = np.isin(corpus.doc, rows)
    links = tuple(one for one in LOCKED if one in (*pipeline.links, "select") and not (whole and one in ("rewrite", "search")))
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
