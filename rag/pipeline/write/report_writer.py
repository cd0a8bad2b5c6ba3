"""Write a report from the passages of a pipeline, section by section, with citations and what the sources do not state."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rag.core import pages
from rag.core.errors import RefusalError, UserError
from rag.core.models.chat import ask, spent
from rag.core.text.citations import citations, cited_sentences, markers, without_markers
from rag.core.text.quotes import section_of
from rag.core.types import Answer, Chunk, Finding, Query, Reply, Request, Span
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.search_filter import narrowed
from rag.pipeline.search.steps import by_turns, select
from rag.pipeline.search.traces import Trace
from rag.pipeline.write.report_gaps import LONGEST, GapCheck, gaps_in
from rag.pipeline.write.report_template import Planned

GAPS, FURTHER = 5, 2
"""The most gaps of a section that are searched for, and the passages that each adds to the prompt."""
Line = tuple[str | int, ...]
"""A paragraph, or an item of a list if it begins with a dash: text, then by turns the number of a source and text."""
Draft = tuple[Answer, list[str]]
"""A section with its gaps."""


@dataclass(frozen=True, slots=True)
class Source:
    """The quoted characters [start, end) of a document, with the headings above them and their pages."""

    number: int
    doc_id: str
    start: int
    end: int
    section: str
    page: str
    quote: str


@dataclass(frozen=True, slots=True)
class WrittenSection:
    """A section of a report, without lines for a heading only. `gaps` are requirements that it does not state.

    `insufficient`: it consists of the text for missing data.
    """

    number: str
    heading: str
    lines: tuple[Line, ...] = ()
    insufficient: bool = False
    gaps: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A written report. Tokens and cost (US dollars, NaN if unknown) count all replies, stored ones as they were paid."""

    title: str
    sections: tuple[WrittenSection, ...]
    sources: tuple[Source, ...]
    tokens: int
    cost: float
    seconds: float


@dataclass
class Writer:
    """Writes sections; a generator that is no model quotes for each requirement what covers it. `hear` gets each heading."""

    pipeline: Pipeline
    check: GapCheck
    hear: Callable[[str], None]
    tokens: int = 0
    cost: float = 0.0
    sources: dict[Span, Source] = field(default_factory=dict)

    def write(self, title: str, sections: Sequence[Planned]) -> Report:
        """The report; UserError for a filter that does not fit the documents, before anything is written."""
        began, places = time.perf_counter(), [self._narrowed(section) for section in sections]
        written = tuple(self._section(section, pipeline) for section, pipeline in zip(sections, places, strict=True))
        return Report(title, written, tuple(self.sources.values()), self.tokens, self.cost, time.perf_counter() - began)

    def _narrowed(self, section: Planned) -> Pipeline:
        try:
            return narrowed(self.pipeline, section.scope)
        except UserError as error:
            raise UserError(f"{section.where}.{error.where}", error.what, error.remedy) from error

    def _section(self, section: Planned, pipeline: Pipeline) -> WrittenSection:
        self.hear(f"{section.number} {section.heading}")
        if not section.is_written:
            return WrittenSection(section.number, section.heading)
        (trace,) = self._traces(pipeline, [section.question])
        answer, gaps = self._draft(section, pipeline, trace)
        if gaps and (further := self._further(section, pipeline, trace, gaps)):
            second = self._draft(section, *further)
            answer, gaps = second if len(second[1]) <= len(gaps) else (answer, gaps)
        lines = () if answer.abstained else self._lines(answer, pipeline)
        findings = tuple(dict.fromkeys(f"{each.source}: {each.what}" for each in answer.findings))
        missing = lines or ((pipeline.reading.prompt.refusal,),)
        return WrittenSection(section.number, section.heading, missing, not lines, tuple(gaps), findings)

    def _traces(self, pipeline: Pipeline, texts: Sequence[str]) -> list[Trace]:
        found = pipeline.traces([Query("write", text) for text in texts])
        for part in (part for each in found for part in (each.sought, each.look) if part):
            self._count(part.tokens, part.cost)
        return found

    def _further(
        self, section: Planned, pipeline: Pipeline, trace: Trace, gaps: Sequence[str]
    ) -> tuple[Pipeline, Trace] | None:
        """The passages of a section with those of searches for its gaps; None if these find no other passage."""
        found = self._traces(pipeline, [f"{section.heading}: {gap}" for gap in gaps[:GAPS]])
        merged = by_turns([trace.reranked, *(each.reranked for each in found)], pipeline.depth)
        selected = select(pipeline.selectors, merged, pipeline.corpus)
        selected = selected if pipeline.allowed is None else selected.within(pipeline.allowed)
        wider = replace(pipeline, reading=replace(pipeline.reading, k=pipeline.k + FURTHER * len(found)))
        further = replace(trace, reranked=merged, selected=selected)
        before, after = ({hit.chunk.span for hit in read} for read in (pipeline.contexts(trace), wider.contexts(further)))
        return (wider, further) if after - before else None

    def _draft(self, section: Planned, pipeline: Pipeline, trace: Trace) -> Draft:
        wanted = self.check.requirements(section.guidance)
        if not getattr(pipeline.generator, "costly", False):
            return self._quoted(section.heading, wanted or [section.heading], pipeline, trace)
        answer = self._answer(section.question, pipeline, trace)
        return (answer, wanted) if answer.abstained or not wanted else self._compared(section, answer, wanted)

    def _quoted(self, heading: str, wanted: Sequence[str], pipeline: Pipeline, trace: Trace) -> Draft:
        """The draft of a generator that quotes: for each requirement the quotes that cover it."""
        answers, kept, gaps = [self._answer(f"{heading}: {need}", pipeline, trace) for need in wanted], list[str](), list[str]()
        for need, answer in zip(wanted, answers, strict=True):
            chunks, ends = [hit.chunk for hit in answer.contexts], [each.end for each in markers(answer.reply.text)]
            quotes = [answer.reply.text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]
            covering = [q for q in quotes if not self.check.uncovered([need], heading, [without_markers(q)], chunks)]
            kept += covering
            gaps += [] if covering else [need]
        best = next((answer for answer in answers if not answer.abstained), answers[0])
        findings = tuple(finding for answer in answers for finding in answer.findings)
        text = "\n".join(dict.fromkeys(kept))
        return replace(best, reply=replace(best.reply, text=text), findings=findings, abstained=not kept), gaps

    def _compared(self, section: Planned, answer: Answer, wanted: Sequence[str]) -> Draft:
        """The text of a model with the gaps that it finds itself; by words where its reply cannot be read."""
        text, missing = answer.reply.text, self.pipeline.reading.prompt.refusal
        messages = self.check.messages(heading=section.heading, guidance=section.guidance, text=text, insufficient=missing)
        (given,) = ask(self.pipeline.generator, [Request(answer.query, (), messages)])
        self._count(*spent(given))
        try:
            return answer, gaps_in(given)
        except ValueError as error:
            said = [without_markers(text[each.start : each.end]) for each in cited_sentences(text)]
            gaps = self.check.uncovered(wanted, section.heading, said, [hit.chunk for hit in answer.contexts])
            noted = Finding("gaps", f"compared by words, because the reply of the model {error}"[:LONGEST])
            return replace(answer, findings=(*answer.findings, noted)), gaps

    def _answer(self, question: str, pipeline: Pipeline, trace: Trace) -> Answer:
        """The answer after checks and guards; where no passage is left, or the request is refused, it abstains."""
        query, refused = Query("write", question), tuple[Finding, ...]()
        if pipeline.prepare(query, trace).chunks:
            try:
                answer = pipeline.answer_from(query, trace)
                self._count(answer.reply.prompt_tokens + answer.reply.completion_tokens, answer.reply.cost)
                return answer
            except RefusalError as error:
                refused = (Finding("generator", error.what),)
        return Answer(query, (), Reply(""), refused, abstained=True)

    def _count(self, tokens: int, cost: float) -> None:
        self.tokens, self.cost = self.tokens + tokens, self.cost + cost

    def _lines(self, answer: Answer, pipeline: Pipeline) -> tuple[Line, ...]:
        """The lines of a text, its markers replaced by the numbers of the report."""
        text, contexts, lines, at = answer.reply.text, answer.contexts, [list[str | int]([""])], 0
        quotes = {(each.start, each.number): each.quote for each in citations(text, contexts)}
        for marker in markers(text):
            _add(lines, text[at : marker.start])
            for number in marker.numbers(len(contexts)):
                chunk = contexts[number - 1].chunk
                lines[-1] += [self._source(quotes.get((marker.start, number), chunk.span), chunk, pipeline), ""]
            at = marker.end
        _add(lines, text[at:])
        return tuple(tuple(line) for line in lines if "".join(map(str, line)).strip())

    def _source(self, quote: Span, chunk: Chunk, pipeline: Pipeline) -> int:
        if quote not in self.sources:
            text = pipeline.corpus.documents[pipeline.corpus.place(quote.doc_id) or 0].text[quote.start : quote.end]
            page = pages.label(pages.pages_of(chunk.blocks, quote.start, quote.end))
            place = quote.doc_id, quote.start, quote.end, section_of(quote, chunk), page
            self.sources[quote] = Source(len(self.sources) + 1, *place, text)
        return self.sources[quote].number


def _add(lines: list[list[str | int]], text: str) -> None:
    """Append a text to the last line; its line breaks begin new ones."""
    first, *rest = text.split("\n")
    lines[-1][-1] = f"{lines[-1][-1]}{first}"
    lines += [[each] for each in rest]
