"""From what was found to what a model is given: screens, the token budget, memory, guards, prompt.

The steps between selection and generation, for many questions or for one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import Chunk, Document, Finding, Hit, Material, Query, Ranking, Recalled, Request, Source
from rag.core.roles import Framing, Memory, Prompt, Quoting, Screen
from rag.pipeline.context_packing import Packed, pack


@dataclass(frozen=True)
class Screened:
    """What screens left of the first k hits of a question and their neighbours, the ranks of these, and what screens found."""

    kept: tuple[tuple[int, float], ...]
    findings: tuple[Finding, ...] = ()
    ranks: tuple[int, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether the model is not to be asked."""
        return any(finding.action == "abstain" for finding in self.findings)


@dataclass(frozen=True)
class Prepared:
    """A request, the passages that are read, and those that had no room. A question that abstains has no request.

    `chunks` are the passages as they are shown: one that was cut ends where its text does. `recalled` is what is shown of the
    conversation, with what that took.
    """

    request: Request | None
    read: tuple[tuple[int, float], ...]
    left_out: tuple[tuple[int, float], ...]
    screened: Screened
    chunks: tuple[Chunk, ...]
    recalled: Recalled = field(default_factory=Recalled)


@dataclass(frozen=True)
class Reading:
    """The parts that lay out what was found: the first `k` hits, each with the neighbours that a selector put behind it.

    `pinned` documents go in whole; `context_tokens` limits the contexts, None not.
    """

    prompt: Prompt
    memory: Memory
    k: int
    context_tokens: int | None = None
    screens: Mapping[str, Screen] = field(default_factory=dict)
    framings: Mapping[str, Framing] = field(default_factory=dict)
    pinned: tuple[Document, ...] = ()

    def screen(self, queries: Sequence[Query], rankings: Rankings, corpus: Corpus) -> list[Screened]:
        """Look at the first k hits of every question and their neighbours; what is quarantined is not replaced by others."""
        return screen(self.screens, queries, rankings.first(self.k), corpus)

    def prepare(
        self, queries: Sequence[Query], screened: Sequence[Screened], corpus: Corpus, references: Sequence[tuple[str, ...]] = ()
    ) -> list[Prepared]:
        """The requests; `references` are the gold answers, one tuple per query, where they are known."""
        recalled = self.memory.recall(queries)
        known = references or [()] * len(queries)
        rows = zip(queries, screened, recalled, known, strict=True)
        return [self._one(query, seen, memory, corpus, gold) for query, seen, memory, gold in rows]

    def _one(self, query: Query, screened: Screened, recalled: Recalled, corpus: Corpus, gold: tuple[str, ...]) -> Prepared:
        if recalled.note:
            screened = replace(screened, findings=(*screened.findings, Finding("memory", recalled.note)))
        packed = pack(screened.kept, corpus, self.context_tokens, screened.ranks)
        if screened.abstains:
            return Prepared(None, packed.read, packed.left_out, screened, packed.chunks, recalled)
        quoted = texts = self._quoted(packed, corpus)
        before, after = list[str](), list[str]()
        for framing in self.framings.values():
            framed = framing.frame(query, texts)
            texts, before, after = framed.contexts, [*before, framed.before], [*after, framed.after]
        said = "\n\n".join(filter(None, before)), "\n\n".join(filter(None, after))
        messages = self.prompt.render(Material(query, texts, recalled, self.pinned, *said))
        request = Request(query, packed.chunks, messages, gold, quoted=quoted)
        return Prepared(request, packed.read, packed.left_out, screened, packed.chunks, recalled)

    def _quoted(self, packed: Packed, corpus: Corpus) -> tuple[str, ...]:
        """What guards frame: the passages, with all that the prompt shows of their documents."""
        if not isinstance(self.prompt, Quoting):
            return packed.texts
        rows = zip(packed.chunks, packed.texts, strict=True)
        named = ((chunk.span.doc_id, chunk.section, text) for chunk, text in rows)
        return self.prompt.quoted([Source(doc_id, corpus.title(doc_id), section, text) for doc_id, section, text in named])


def screen(screens: Mapping[str, Screen], queries: Sequence[Query], heads: Rankings, corpus: Corpus) -> list[Screened]:
    """What is left of the heads of rankings; contexts in findings get the numbers that they have among what is left."""
    rows = [[(place, *known) for place, known in heads.placed(number).items()] for number in range(len(heads))]
    shown: list[Ranking] = []
    if screens:
        shown = [tuple(Hit(corpus.chunk(place), score) for place, _, score in row) for row in rows]
    found: list[list[Finding]] = [[] for _ in queries]
    for one in screens.values():
        for gathered, findings in zip(found, one.screen(queries, shown), strict=True):
            gathered += findings
    return [_left(row, findings, corpus) for row, findings in zip(rows, found, strict=True)]


def _left(row: Sequence[tuple[int, int, float]], findings: Sequence[Finding], corpus: Corpus) -> Screened:
    """What is left of passages, each a position, a rank and a score."""
    gone = {finding.context for finding in findings if finding.action == "quarantine"}
    kept = [place for place in range(1, len(row) + 1) if place not in gone]
    number = {place: after for after, place in enumerate(kept, 1)}

    def told(one: Finding) -> Finding:
        name = corpus.chunk(row[one.context - 1][0]).chunk_id
        return replace(one, context=number.get(one.context, 0), passage=name)

    left = [row[place - 1] for place in kept]
    told_of = tuple(told(one) if one.context else one for one in findings)
    return Screened(tuple((position, score) for position, _, score in left), told_of, tuple(rank for _, rank, _ in left))
