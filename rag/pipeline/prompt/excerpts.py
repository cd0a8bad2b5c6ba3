"""Passages as a model may read them: screened, cut to a limit, laid out, and framed by guards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core import pages
from rag.core.corpus import Corpus
from rag.core.looks import Look
from rag.core.rankings import Rankings
from rag.core.roles import Framing, Quoting, Screen
from rag.core.types import Chunk, Document, Finding, Framed, Hit, Query, Ranking, Source, Span
from rag.pipeline.prompt.context_packing import Packed, Passage, pack, passages
from rag.pipeline.prompt.record_answers import texts_of

FAR = ("off_topic", "retrieval_floor")
"""The checks that decline a question as too far from the documents."""
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
class Excerpts:
    """The first `k` passages, within `context_tokens`, as screens leave them, in the layout of `quoting`, framed by guards."""

    k: int
    context_tokens: int | None = None
    screens: Mapping[str, Screen] = field(default_factory=dict)
    framings: Mapping[str, Framing] = field(default_factory=dict)
    quoting: Quoting | None = None
    locked: bool = False

    def screen(
        self, queries: Sequence[Query], rankings: Rankings, corpus: Corpus, looks: Sequence[Look | None] = ()
    ) -> list[Screened]:
        """The passages that screens leave of the first k hits; contexts in findings get the numbers of those that are left.

        A quarantined passage is not replaced by another. Guards also read the texts of records. Checks do not read what records
        answer: they compare questions with passages. No question is too far from `locked` files, which a person chose.
        """
        heads = rankings.first(self.k)
        rows = [passages(heads, number, corpus) for number in range(len(heads))]
        texts = list(map(texts_of, looks)) or [()] * len(rows)
        stated = {number for number, look in enumerate(looks) if look and look.answers}
        shown: list[Ranking] = []
        if self.screens:
            read = (tuple(Hit(passage.chunk(corpus), passage.score) for passage in row) for row in rows)
            shown = [(*row, *map(_hit, more)) for row, more in zip(read, texts, strict=True)]
        found: list[list[Finding]] = [[] for _ in queries]
        for name, each in self.screens.items():
            asked = [number for number in range(len(queries)) if number not in stated or name.startswith(GUARD)]
            given = each.screen([queries[number] for number in asked], [shown[number] for number in asked])
            for number, findings in zip(asked, given, strict=True):
                found[number] += [one for one in findings if not self.locked or one.reply or one.source not in FAR]
        return [_left(row, findings, corpus) for row, findings in zip(rows, found, strict=True)]

    def packed(self, screened: Screened, corpus: Corpus) -> Packed:
        """The passages that fit; none where a screen abstains."""
        return pack(() if screened.abstains else screened.kept, corpus, self.context_tokens)

    def framed(self, query: Query, texts: tuple[str, ...]) -> Framed:
        """Texts as all framings together change them, and the notes of framings before and after them."""
        before, after = list[str](), list[str]()
        for framing in self.framings.values():
            framed = framing.frame(query, texts)
            texts, before, after = framed.contexts, [*before, framed.before], [*after, framed.after]
        return Framed(texts, "\n\n".join(filter(None, before)), "\n\n".join(filter(None, after)))

    def quoted(self, packed: Packed, corpus: Corpus) -> tuple[str, ...]:
        """The texts that guards frame: the passages, with the titles and sections that the prompt shows."""
        if self.quoting is None:
            return packed.texts
        rows = zip(packed.chunks, packed.texts, strict=True)
        return self.quoting.quoted([_source(chunk, text, corpus) for chunk, text in rows])

    def withhold(self, query: Query, texts: Sequence[str], corpus: Corpus) -> bool:
        """Whether a guard takes out one of the texts, which a model or a document may have written."""
        guards = {name: each for name, each in self.screens.items() if name.startswith(GUARD)}
        given = [query], Rankings.pack([[]]), corpus, [Look(results=tuple(filter(None, texts)))]
        return bool(guards) and bool(replace(self, k=0, screens=guards).screen(*given)[0].withheld)


def quoting_of(prompt: object) -> Quoting | None:
    """The part of a prompt that lays out passages: its `quoting`, or all of it; None where it shows their texts alone."""
    part = getattr(prompt, "quoting", None)
    return part if part is not None else prompt if isinstance(prompt, Quoting) else None


def _source(chunk: Chunk, text: str, corpus: Corpus) -> Source:
    row = corpus.place(chunk.span.doc_id)
    document = Document(chunk.span.doc_id, "") if row is None else corpus.documents[row]
    begin, blocks = chunk.span.start, document.blocks
    figures = tuple((start - begin, end - begin) for start, end in pages.figures(blocks, begin, chunk.span.end))
    page = pages.page_at(blocks, begin)
    return Source(document.doc_id, corpus.title(document.doc_id), chunk.section, text, page, document.metadata, figures)


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
