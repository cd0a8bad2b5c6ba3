"""The steps between selection and generation, for many questions or for one: screens, token budget, memory, guards, prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.roles import Framing, Memory, Prompt, Replying, Screen
from rag.core.types import Chunk, Document, Finding, Material, Query, Recalled, Reply, Request
from rag.pipeline.prompt.authority import settled
from rag.pipeline.prompt.context_packing import pack
from rag.pipeline.prompt.cut_marks import OUTLINE, marked
from rag.pipeline.prompt.excerpts import Excerpts, Screened, quoting_of
from rag.pipeline.prompt.record_answers import answer_of, texts_of


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

    @property
    def excerpts(self) -> Excerpts:
        """The passages of a prompt, as guards leave them."""
        return Excerpts(self.k, self.context_tokens, self.screens, self.framings, quoting_of(self.prompt), self.locked)

    def replies(self, query: Query) -> bool:
        """Whether a screen replies to a message, so that nothing needs to be searched for."""
        return any(each.reply(query) for each in self.screens.values() if isinstance(each, Replying))

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
        self, query: Query, screened: Screened, recalled: Recalled, corpus: Corpus, gold: tuple[str, ...], look: Look | None
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
        quoted = self.excerpts.quoted(packed, corpus)
        if self.locked and self.context_tokens:
            quoted = marked(quoted, packed.chunks, corpus, self.context_tokens // OUTLINE)
        texts = tuple(text for place, text in enumerate(texts_of(look)) if place not in screened.withheld)
        condensed = look.condensed if look else None
        if condensed and condensed.read != tuple(chunk.chunk_id for chunk in packed.chunks):
            condensed = None  # Its numbers are those of other passages.
        items, end = tuple(item.text for item in condensed.items) if condensed else (), len(quoted + texts)
        framed = self.excerpts.framed(query, quoted + texts + items)
        contexts, results = framed.contexts[: len(quoted)], framed.contexts[len(quoted) : end]
        known = condensed and condensed.with_texts(framed.contexts[end:])
        headers = look.shape.headers if look and look.shape else ()
        around = framed.before, framed.after
        names = tuple(chunk.span.doc_id for chunk in packed.chunks) if self.locked else ()
        material = Material(query, contexts, recalled, self.pinned, *around, results, known, headers, names)
        request = Request(query, packed.chunks, self.prompt.render(material), gold, quoted=quoted)
        return Prepared(request, *shown)

    def _files(self, screened: Screened, corpus: Corpus) -> list[Document]:
        """The files in the prompt: the pinned ones, and what is read of locked ones."""
        if not self.locked:
            return list(self.pinned)
        chunks = [passage.chunk(corpus) for passage in screened.kept]
        names = list(dict.fromkeys(chunk.span.doc_id for chunk in chunks))
        texts = {name: "\n".join(chunk.text for chunk in chunks if chunk.span.doc_id == name) for name in names}
        rows = ((name, corpus.documents[corpus.place(name) or 0].metadata) for name in names)
        return [*self.pinned, *(Document(name, texts[name], metadata) for name, metadata in rows)]
