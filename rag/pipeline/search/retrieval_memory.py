"""What a conversation found, as it is kept between its questions and used again for a later one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.core.corpus import Corpus
from rag.core.looks import Look, LookStep
from rag.core.rankings import DIGITS, Rankings
from rag.core.roles import RetrievalMemory
from rag.core.types import Allowed, Found, Vectors
from rag.pipeline.search.traces import Reuse, Trace, Work

Entry = tuple[int, float, int, bool]
"""The position, score, rank and flag `joined` of a chunk."""
Embed = Callable[[list[str]], Sequence[Vectors]]
"""Gives the vectors of questions."""


def found(question: str, rankings: Rankings, k: int, corpus: Corpus) -> Found:
    """The first k hits of a ranking of one question, each with the chunks that a selector added."""
    entries = _entries(rankings.first(k))
    return Found(
        question, tuple((corpus.chunk(position).span, score, rank, joined) for position, score, rank, joined in entries)
    )


def ranked(earlier: Found, corpus: Corpus, allowed: Allowed | None) -> Rankings | None:
    """The ranking of what was found; None if one of its chunks does not exist here or must not be read."""
    entries = list[Entry]()
    for span, score, rank, joined in earlier.hits:
        place = corpus.find(span)
        if place is None or (allowed is not None and not allowed[place]):
            return None
        entries.append((place, score, rank, joined))
    return _rankings(entries)


def merged(fresh: Rankings, earlier: Rankings, k: int) -> Rankings:
    """The first half of k fresh hits, then earlier hits, then the other fresh ones: no chunk twice.

    Scores keep their distances within each of the three parts, which follow one another at a distance of one.
    """
    own, half = _entries(fresh), (k + 1) // 2
    parts = [entry for entry in own if entry[2] <= half], _entries(earlier), [entry for entry in own if entry[2] > half]
    kept, seen, last = list[Entry](), set[int](), 0
    for part in parts:
        new = [entry for entry in part if entry[0] not in seen]
        shift = kept[-1][1] - 1 - new[0][1] if kept and new else 0.0
        number = {rank: last + place for place, rank in enumerate(sorted({entry[2] for entry in new}), 1)}
        kept += [(place, round(score + shift, DIGITS), number[rank], joined) for place, score, rank, joined in new]
        seen |= {entry[0] for entry in new}
        last += len(number)
    return _rankings(kept)


@dataclass(frozen=True)
class ReuseLink:
    """Decides for each question whether what its conversation found serves it. Only what may be read here can be used again."""

    memory: RetrievalMemory
    embed: Embed
    corpus: Corpus

    def look(self, works: Sequence[Work]) -> None:
        """Set what is used again; a question that uses all of it has its passages."""
        for work in works:
            work.reuse = self._reuse(work)
            if work.reuse and work.reuse.full:
                look = Look(shape=work.look.shape, steps=tuple(each for each in work.look.steps if each.act == "shape"))
                work.trace = Trace.at(work.sought, work.reuse.ranking, look)
                work.note(work.reuse.step)

    def _reuse(self, work: Work) -> Reuse | None:
        earlier, question = work.query.earlier, work.sought.question
        known = [(one, ranking) for one in earlier if (ranking := ranked(one, self.corpus, work.allowed))]
        if not known or work.look.declined:
            return None
        vectors = np.stack(self.embed([question, *(one.question for one, _ in known)]))
        decision = self.memory.reuse(question, vectors[:1], [one.question for one, _ in known], vectors[1:])
        if not decision.share:
            return None
        one, ranking = known[decision.earlier]
        chunks = tuple(self.corpus.chunk(position).chunk_id for position, *_ in _entries(ranking))
        full = decision.share == 1
        return Reuse(ranking, LookStep("reuse" if full else "merge", one.question, decision.why, chunks), full)


@dataclass(frozen=True)
class MergeLink:
    """Joins the first half of k fresh passages with what is used again."""

    k: int

    def look(self, works: Sequence[Work]) -> None:
        """Merge the passages of questions that use some again; records are not mixed with them."""
        for work in works:
            if work.reuse and not work.reuse.full and not work.look.result:
                work.trace = replace(work.trace, selected=merged(work.trace.selected, work.reuse.ranking, self.k))
                work.note(work.reuse.step)


def adds_nothing(look: Look) -> bool:
    """True for a question that was answered from records, or with what an earlier one found: none is compared with it."""
    return look.result is not None or any(step.act == "reuse" for step in look.steps)


def _entries(rankings: Rankings) -> list[Entry]:
    """The entries of a ranking of one question."""
    flags: Sequence[bool] = [] if rankings.joined is None else rankings.joined[0].tolist()
    placed = enumerate(rankings.placed(0).items())
    return [(position, score, rank, bool(flags and flags[column])) for column, (position, (rank, score)) in placed]


def _rankings(entries: Iterable[Entry]) -> Rankings:
    rows = list(entries)
    packed = Rankings.pack([[(position, score) for position, score, *_ in rows]])
    ranks, joined = (np.array([[row[column] for row in rows]]) for column in (2, 3))
    return Rankings(packed.positions, packed.scores, ranks.astype(np.int32), joined.astype(np.bool_) if joined.any() else None)
