"""Questions → answers: a search, then prompt, generation and checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rag.core.corpus import Corpus
from rag.core.roles import Generator, Inspection, changes_nothing
from rag.core.text.final_answer import Announced, awaited
from rag.core.types import Answer, Finding, Hit, Message, Query, Ranking, Reply, Sought
from rag.pipeline.prompt import postprocess
from rag.pipeline.prompt.context_packing import hits, passages
from rag.pipeline.prompt.prompt_assembly import Prepared
from rag.pipeline.prompt.refusal_wording import worded
from rag.pipeline.search.index_search import untimed
from rag.pipeline.search.retrieval import Retrieval
from rag.pipeline.search.timing import Clock, Step
from rag.pipeline.search.traces import Trace as Trace


@dataclass(frozen=True, kw_only=True)
class Pipeline(Retrieval):
    """The components of a config around an opened corpus."""

    generator: Generator
    inspections: Mapping[str, Inspection] = field(default_factory=dict)

    def trace(self, query: Query) -> Trace:
        """Rewrite, search, fuse, rerank and select for one question, with its shape and condensed passages."""
        (trace,) = self.traces([query])
        return trace

    def trace_to_answer(self, query: Query) -> Trace:
        """As `trace`; nothing is searched for where a check replies to the message."""
        if not self.reading.replies(query):
            return self.trace(query)
        return Trace.at(Sought(query.text, (query.text,)))

    def prepare(self, query: Query, trace: Trace, references: tuple[str, ...] = ()) -> Prepared:
        """The request for the generator, and its passages."""
        (screened,) = self.reading.excerpts.screen([query], trace.selected, self.corpus, [trace.look])
        if self.off:
            without = Finding("agents", f"without {', '.join(self.off)}: this answer is not measured")
            screened = replace(screened, findings=(*screened.findings, without))
        (prepared,) = self.reading.prepare([query], [screened], self.corpus, [references], [trace.look])
        return prepared

    def contexts(self, trace: Trace) -> Ranking:
        """The first k passages, best first."""
        found = passages(trace.selected.first(self.k), 0, self.corpus)
        return tuple(Hit(passage.chunk(self.corpus), passage.score) for passage in found)

    def answer(self, query: Query, hear: Callable[[str], None] | None = None) -> Answer:
        """Answer one question; `hear` gets the reply in pieces as they come."""
        return self.answer_from(query, self.trace_to_answer(query), hear)

    def answer_from(
        self,
        query: Query,
        trace: Trace,
        hear: Callable[[str], None] | None = None,
        references: tuple[str, ...] = (),
        clock: Clock | None = None,
        early: bool = False,
        read: Callable[[Ranking], None] | None = None,
        edited: Sequence[Message] = (),
    ) -> Answer:
        """Answer one question from its trace; `references` are its gold answers, where they are known.

        `hear` gets the reply in pieces. If inspections could change the reply, it comes after them, so that text that a guard
        removes is never shown. Reasoning before an announced answer is never shown: the answer comes at the end, or with
        `early` as soon as it is announced. A model may announce a second answer, so a listener with `early` must show the final
        answer where it differs. Empty pieces mean that the model is writing hidden text; a listener may raise there to cancel.
        `read` gets the passages of the prompt before the model answers. `edited` messages replace those of the prompt, and a
        finding says so.
        """
        if changes_nothing(self.generator):
            return Answer(query, self.contexts(trace), Reply(""), sought=trace.sought, look=trace.look)
        step: Step = clock.step if clock else untimed
        with step("prompt"):
            prepared = self.prepare(query, trace, references)
        if edited:
            from rag.pipeline.prompt.edited_prompt import exchanged

            prepared = exchanged(prepared, edited)
        if read and prepared.request:
            read(_read(prepared, self.corpus))
        listener = hear and self._listener(hear, early)
        with step("generate"):
            checked = self._checked(prepared, listener)
            prompt = self.reading.prompt
            checked = worded(checked, prepared, query, prompt.refusal, getattr(prompt, "answers", {}))
        if hear and (not prepared.asks or (isinstance(listener, Announced) and not listener.end())):
            hear(checked.reply.text)
        return answered(query, prepared, checked, trace.sought, self.corpus)

    def _listener(self, hear: Callable[[str], None], early: bool) -> Callable[[str], None]:
        """The function that gets the pieces of a reply and passes the answer to `hear`."""
        final = awaited(self.reading.prompt, self.generator)
        late = any(getattr(inspection, "on_failure", "") != "flag" for inspection in self.inspections.values())
        return Announced(final, hear, early and bool(final) and not late) if late or final else hear

    def _checked(self, prepared: Prepared, hear: Callable[[str], None] | None) -> postprocess.Checked:
        refusal = self.reading.prompt.refusal
        if prepared.request is None:
            return postprocess.unasked(prepared.screened.reply or refusal)
        if prepared.reply:
            return postprocess.stated(self.inspections, prepared.request, prepared.reply, refusal)
        if hear is None:
            (reply,) = self.generator.generate([prepared.request])
        else:
            reply = postprocess.streamed(self.generator.stream(prepared.request), hear)
        prompt = self.reading.prompt
        known = awaited(prompt, self.generator), getattr(prompt, "inputs", {})
        (checked,) = postprocess.check(self.inspections, [prepared.request], [reply], self.generator, refusal, *known)
        return checked


def answered(query: Query, prepared: Prepared, checked: postprocess.Checked, sought: Sought | None, corpus: Corpus) -> Answer:
    """The final answer with all findings."""
    findings = (*prepared.screened.findings, *checked.findings)
    left_out = hits(corpus, prepared.left_out)
    return Answer(query, _read(prepared, corpus), checked.reply, findings, checked.abstained, sought, left_out, prepared.look)


def _read(prepared: Prepared, corpus: Corpus) -> Ranking:
    """The passages of the prompt; the last may be cut at its end."""
    return hits(corpus, prepared.read, [chunk.span.end for chunk in prepared.chunks])
