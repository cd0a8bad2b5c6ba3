"""The steps between selection and generation, for many questions or for one: screens, token budget, memory, guards, prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core import pages
from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.records import Chunk, Document, Finding, Hit, Material, Query, Ranking, Recalled, Request, Source
from rag.core.roles import Framing, Memory, Prompt, Quoting, Screen
from rag.pipeline.context_packing import Packed, Passage, pack, passages


@dataclass(frozen=True)
class Screened:
    """The passages that screens left of the first k hits and what selectors added to them, and the findings of screens."""

    kept: tuple[Passage, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether a screen keeps the model from being asked."""
        return any(finding.action == "abstain" for finding in self.findings)


@dataclass(frozen=True)
class Prepared:
    """A request, its passages, and the passages without room. A question on which a screen abstains has no request.

    `read` and `left_out` hold the first chunk of each, `chunks` the passages as they are shown: one of several chunks ends with
    the last of them, one that was cut ends with its text. `recalled` is the part of the conversation
    that is shown, with the tokens and cost of making it. `look` is that of the trace.
    """

    request: Request | None
    read: tuple[tuple[int, float], ...]
    left_out: tuple[tuple[int, float], ...]
    screened: Screened
    chunks: tuple[Chunk, ...]
    recalled: Recalled = field(default_factory=Recalled)
    look: Look | None = None


@dataclass(frozen=True)
class Reading:
    """The parts that lay out a prompt of the first `k` hits, each with the chunks that a selector added.

    `pinned` documents go in whole; `context_tokens` limits the contexts, None for no limit.
    """

    prompt: Prompt
    memory: Memory
    k: int
    context_tokens: int | None = None
    screens: Mapping[str, Screen] = field(default_factory=dict)
    framings: Mapping[str, Framing] = field(default_factory=dict)
    pinned: tuple[Document, ...] = ()

    def screen(self, queries: Sequence[Query], rankings: Rankings, corpus: Corpus) -> list[Screened]:
        """Screen the passages of the first k hits of every question; a quarantined one is not replaced by another."""
        return screen(self.screens, queries, rankings.first(self.k), corpus)

    def prepare(
        self,
        queries: Sequence[Query],
        screened: Sequence[Screened],
        corpus: Corpus,
        references: Sequence[tuple[str, ...]] = (),
        looks: Sequence[Look | None] = (),
    ) -> list[Prepared]:
        """The requests; `references` are the gold answers, one tuple per query, where they are known; `looks` as in traces."""
        recalled = self.memory.recall(queries)
        known, looked = references or [()] * len(queries), looks or [None] * len(queries)
        rows = zip(queries, screened, recalled, known, looked, strict=True)
        return [self._prepare(query, seen, memory, corpus, gold, look) for query, seen, memory, gold, look in rows]

    def _prepare(
        self,
        query: Query,
        screened: Screened,
        recalled: Recalled,
        corpus: Corpus,
        gold: tuple[str, ...],
        look: Look | None,
    ) -> Prepared:
        if recalled.note:
            screened = replace(screened, findings=(*screened.findings, Finding("memory", recalled.note)))
        packed = pack(screened.kept, corpus, self.context_tokens)
        if screened.abstains:
            return Prepared(None, packed.read, packed.left_out, screened, packed.chunks, recalled, look)
        quoted = self._quoted(packed, corpus)
        texts = quoted + (look.results if look else ())
        before, after = list[str](), list[str]()
        for framing in self.framings.values():
            framed = framing.frame(query, texts)
            texts, before, after = framed.contexts, [*before, framed.before], [*after, framed.after]
        notes = "\n\n".join(filter(None, before)), "\n\n".join(filter(None, after))
        shown = len(quoted)
        messages = self.prompt.render(Material(query, texts[:shown], recalled, self.pinned, *notes, texts[shown:]))
        request = Request(query, packed.chunks, messages, gold, quoted=quoted)
        return Prepared(request, packed.read, packed.left_out, screened, packed.chunks, recalled, look)

    def _quoted(self, packed: Packed, corpus: Corpus) -> tuple[str, ...]:
        """The texts that guards frame: the passages, with the titles and sections that the prompt shows."""
        if not isinstance(self.prompt, Quoting):
            return packed.texts
        rows = zip(packed.chunks, packed.texts, strict=True)
        return self.prompt.quoted([_source(chunk, text, corpus) for chunk, text in rows])


def _source(chunk: Chunk, text: str, corpus: Corpus) -> Source:
    row = corpus.place(chunk.span.doc_id)
    document = Document(chunk.span.doc_id, "") if row is None else corpus.documents[row]
    begin, blocks = chunk.span.start, document.blocks
    figures = tuple((start - begin, end - begin) for start, end in pages.figures(blocks, begin, chunk.span.end))
    page = pages.page_at(blocks, begin)
    return Source(document.doc_id, corpus.title(document.doc_id), chunk.section, text, page, document.metadata, figures)


def screen(screens: Mapping[str, Screen], queries: Sequence[Query], heads: Rankings, corpus: Corpus) -> list[Screened]:
    """The passages that screens leave; contexts in findings get the numbers of the passages that are left."""
    rows = [passages(heads, number, corpus) for number in range(len(heads))]
    shown: list[Ranking] = []
    if screens:
        shown = [tuple(Hit(passage.chunk(corpus), passage.score) for passage in row) for row in rows]
    found: list[list[Finding]] = [[] for _ in queries]
    for each in screens.values():
        for gathered, findings in zip(found, each.screen(queries, shown), strict=True):
            gathered += findings
    return [_left(row, findings, corpus) for row, findings in zip(rows, found, strict=True)]


def _left(row: Sequence[Passage], findings: Sequence[Finding], corpus: Corpus) -> Screened:
    """The passages that are left of one question's."""
    gone = {finding.context for finding in findings if finding.action == "quarantine"}
    kept = [place for place in range(1, len(row) + 1) if place not in gone]
    number = {place: after for after, place in enumerate(kept, 1)}

    def renumbered(finding: Finding) -> Finding:
        name = row[finding.context - 1].chunk(corpus).chunk_id
        return replace(finding, context=number.get(finding.context, 0), passage=name)

    return Screened(
        tuple(row[place - 1] for place in kept),
        tuple(renumbered(each) if each.context else each for each in findings),
    )
