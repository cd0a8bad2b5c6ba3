"""The steps between selection and generation, for many questions or for one: screens, token budget, memory, guards, prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core import pages
from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.records import (
    Chunk,
    Document,
    Finding,
    Framed,
    Hit,
    Material,
    Query,
    Ranking,
    Recalled,
    Reply,
    Request,
    Source,
    Span,
)
from rag.core.roles import Framing, Memory, Prompt, Quoting, Replying, Screen
from rag.pipeline.prompt.authority import settled
from rag.pipeline.prompt.context_packing import Packed, Passage, pack, passages
from rag.pipeline.prompt.cut_marks import OUTLINE, marked
from rag.pipeline.prompt.record_answers import answer_of, texts_of

GUARD = "guard."
"""The names of guards among screens and inspections begin so, those of checks do not."""


@dataclass(frozen=True)
class Screened:
    """The passages that screens left of the first k hits and what selectors added to them, and the findings of screens.

    `withheld` are the places, in `record_answers.texts_of`, of texts of records that guards do not let through.
    """

    kept: tuple[Passage, ...]
    findings: tuple[Finding, ...] = ()
    withheld: tuple[int, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether a screen keeps the model from being asked."""
        return any(finding.action == "abstain" for finding in self.findings)

    @property
    def reply(self) -> str:
        """The reply of a screen to a message that is no question; empty for none."""
        return next((finding.reply for finding in self.findings if finding.reply), "")


@dataclass(frozen=True)
class Prepared:
    """A request, its passages, and the passages without room. A question on which a screen abstains has no request.

    `read` and `left_out` hold the first chunk of each, `chunks` the passages as they are shown: one of several chunks ends with
    the last of them, one that was cut ends with its text. `recalled` is the part of the conversation
    that is shown, with the tokens and cost of making it. `look` is that of the trace. `reply` is the answer from records, for
    which no model is asked: its request has the passages and no messages.
    """

    request: Request | None
    read: tuple[tuple[int, float], ...]
    left_out: tuple[tuple[int, float], ...]
    screened: Screened
    chunks: tuple[Chunk, ...]
    recalled: Recalled = field(default_factory=Recalled)
    look: Look | None = None
    reply: Reply | None = None

    @property
    def asks(self) -> bool:
        """Whether the model is asked."""
        return self.request is not None and self.reply is None


@dataclass(frozen=True)
class Reading:
    """The parts that lay out a prompt of the first `k` hits, each with the chunks that a selector added.

    `pinned` documents go in whole; `context_tokens` limits the contexts, None for no limit.
    `locked`: the contexts are files that replace the search.
    """

    prompt: Prompt
    memory: Memory
    k: int
    context_tokens: int | None = None
    screens: Mapping[str, Screen] = field(default_factory=dict)
    framings: Mapping[str, Framing] = field(default_factory=dict)
    pinned: tuple[Document, ...] = ()
    locked: bool = False

    def screen(
        self, queries: Sequence[Query], rankings: Rankings, corpus: Corpus, looks: Sequence[Look | None] = ()
    ) -> list[Screened]:
        """Screen the passages of the first k hits of every question; a quarantined one is not replaced by another."""
        return screen(self.screens, queries, rankings.first(self.k), corpus, looks)

    def replies(self, query: Query) -> bool:
        """Whether a screen replies to a message, so that nothing needs to be searched for."""
        return any(screen.reply(query) for screen in self.screens.values() if isinstance(screen, Replying))

    def prepare(
        self,
        queries: Sequence[Query],
        screened: Sequence[Screened],
        corpus: Corpus,
        references: Sequence[tuple[str, ...]] = (),
        looks: Sequence[Look | None] = (),
    ) -> list[Prepared]:
        """The requests; `references` are the gold answers, one tuple per query, where they are known; `looks` as in traces."""
        known, looked = references or [()] * len(queries), looks or [None] * len(queries)
        asks = [not (seen.reply or (look and look.answers)) for seen, look in zip(screened, looked, strict=True)]
        shown = iter(self.memory.recall([query for query, asked in zip(queries, asks, strict=True) if asked]))
        recalled = [next(shown) if asked else Recalled() for asked in asks]
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
        if screened.reply:
            return Prepared(None, (), (), Screened((), tuple(each for each in screened.findings if each.input)), ())
        rules, files = getattr(self.prompt, "authority", None), self._files(screened, corpus)
        if rules and files:
            recalled, overruled = settled(rules, recalled, files)
            screened = replace(screened, findings=(*screened.findings, *overruled))
        notes = {"memory": recalled.note, "condense": look.not_condensed if look else ""}
        said = tuple(Finding(source, note) for source, note in notes.items() if note)
        screened = replace(screened, findings=screened.findings + said)
        packed = pack(screened.kept, corpus, self.context_tokens)
        shown = packed.read, packed.left_out, screened, packed.chunks, recalled, look
        if look and look.result and look.answers and not screened.abstains:
            sentences = getattr(self.prompt, "answers", {})
            reply = answer_of(look.result, packed.chunks, sentences, screened.withheld)
            return Prepared(Request(query, packed.chunks, (), gold, quoted=packed.texts), *shown, reply)
        if screened.abstains:
            return Prepared(None, *shown)
        quoted = self.quoted(packed, corpus)
        if self.locked and self.context_tokens:
            quoted = marked(quoted, packed.chunks, corpus, self.context_tokens // OUTLINE)
        texts = tuple(text for place, text in enumerate(texts_of(look)) if place not in screened.withheld)
        condensed = look.condensed if look else None
        if condensed and condensed.read != tuple(chunk.chunk_id for chunk in packed.chunks):
            condensed = None  # Its numbers are those of other passages.
        items, end = tuple(item.text for item in condensed.items) if condensed else (), len(quoted + texts)
        framed = self.framed(query, quoted + texts + items)
        contexts, results = framed.contexts[: len(quoted)], framed.contexts[len(quoted) : end]
        known = condensed and condensed.with_texts(framed.contexts[end:])
        headers = look.shape.headers if look and look.shape else ()
        around = framed.before, framed.after
        material = Material(query, contexts, recalled, self.pinned, *around, results, known, headers)
        request = Request(query, packed.chunks, self.prompt.render(material), gold, quoted=quoted)
        return Prepared(request, *shown)

    def framed(self, query: Query, texts: tuple[str, ...]) -> Framed:
        """Texts as all framings together change them, and the notes of framings before and after them."""
        before, after = list[str](), list[str]()
        for framing in self.framings.values():
            framed = framing.frame(query, texts)
            texts, before, after = framed.contexts, [*before, framed.before], [*after, framed.after]
        return Framed(texts, "\n\n".join(filter(None, before)), "\n\n".join(filter(None, after)))

    def _files(self, screened: Screened, corpus: Corpus) -> list[Document]:
        """The files in the prompt: the pinned ones, and what is read of locked ones."""
        if not self.locked:
            return list(self.pinned)
        chunks = [passage.chunk(corpus) for passage in screened.kept]
        names = list(dict.fromkeys(chunk.span.doc_id for chunk in chunks))
        texts = {name: "\n".join(chunk.text for chunk in chunks if chunk.span.doc_id == name) for name in names}
        rows = ((name, corpus.documents[corpus.place(name) or 0].metadata) for name in names)
        return [*self.pinned, *(Document(name, texts[name], metadata) for name, metadata in rows)]

    def quoted(self, packed: Packed, corpus: Corpus) -> tuple[str, ...]:
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


def screen(
    screens: Mapping[str, Screen], queries: Sequence[Query], heads: Rankings, corpus: Corpus, looks: Sequence[Look | None] = ()
) -> list[Screened]:
    """The passages that screens leave; contexts in findings get the numbers of the passages that are left.

    Guards also read the texts of records. Checks do not read what records answer: they compare questions with passages.
    """
    rows = [passages(heads, number, corpus) for number in range(len(heads))]
    texts = list(map(texts_of, looks)) or [()] * len(rows)
    stated = {number for number, look in enumerate(looks) if look and look.answers}
    shown: list[Ranking] = []
    if screens:
        read = (tuple(Hit(passage.chunk(corpus), passage.score) for passage in row) for row in rows)
        shown = [(*row, *map(_hit, more)) for row, more in zip(read, texts, strict=True)]
    found: list[list[Finding]] = [[] for _ in queries]
    for name, each in screens.items():
        asked = [number for number in range(len(queries)) if number not in stated or name.startswith(GUARD)]
        given = each.screen([queries[number] for number in asked], [shown[number] for number in asked])
        for number, findings in zip(asked, given, strict=True):
            found[number] += findings
    return [_left(row, findings, corpus) for row, findings in zip(rows, found, strict=True)]


def _hit(text: str) -> Hit:
    """A text of records as a passage behind the others."""
    return Hit(Chunk(Span("records", 0, len(text)), text), 0.0)


def _left(row: Sequence[Passage], found: Sequence[Finding], corpus: Corpus) -> Screened:
    """The passages that are left of one question's, and the texts of records behind them that are withheld."""
    behind = [each for each in found if each.context > len(row)]
    withheld = {each.context - len(row) - 1 for each in behind if each.action == "quarantine"}
    findings = [each for each in found if each.context <= len(row)]
    findings += [Finding(each.source, f"in a record: {each.what}", each.action) for each in behind]
    gone = {finding.context for finding in findings if finding.action == "quarantine"}
    kept = [place for place in range(1, len(row) + 1) if place not in gone]
    number = {place: after for after, place in enumerate(kept, 1)}

    def renumbered(finding: Finding) -> Finding:
        name = row[finding.context - 1].chunk(corpus).chunk_id
        return replace(finding, context=number.get(finding.context, 0), passage=name)

    return Screened(
        tuple(row[place - 1] for place in kept),
        tuple(renumbered(each) if each.context else each for each in findings),
        tuple(sorted(withheld)),
    )
