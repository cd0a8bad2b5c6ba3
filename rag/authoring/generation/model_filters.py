"""Filters that ask a model: whether it answers a question without the documents, by its evidence, and by other passages."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from rag.authoring.candidates import Candidate, touches
from rag.authoring.generation.model_prompts import prompts
from rag.core.checks import check_choice
from rag.core.headings import above, sections
from rag.core.roles import Generator
from rag.core.text.refusals import declines, refused
from rag.core.text.squad import f1, normalised
from rag.core.text.templates import fill
from rag.core.text.value_rules import decide
from rag.core.types import Document, Message, Query, Request, Span

OWN, CLOSED, OTHERS = "evidence", "closed_book", "others"
FILTERS: Mapping[str, str] = {
    OWN: "not found in its evidence",
    CLOSED: "answered from memory",
    OTHERS: "answered from other passages",
}
"""The filters, in the order in which they ask, and the reasons for which they drop a question."""
AGREES = 0.5
"""The least value of an answer that agrees with the reference."""
PASSAGES, LONGEST = 3, 1000
"""Other passages that are shown, and characters of each."""
SEPARATE = "\n\n"


class ModelFilters:
    """Asks a generator each question in up to three ways; `search` gives spans of the documents for a text, best first.

    A question is dropped if the answer from its evidence does not agree with its own, or if the answer from memory or from the
    PASSAGES best other passages does. An unanswerable question is only asked with the best passages, which must not answer it.
    """

    def __init__(
        self,
        documents: Mapping[str, Document],
        generator: Generator,
        search: Callable[[str], Sequence[Span]],
        language: str = "english",
        names: Sequence[str] | None = None,
    ) -> None:
        self.documents, self.generator, self.search, self.language = documents, generator, search, language
        for name in names or ():
            check_choice("--model-filters", name, FILTERS)
        self.names = [name for name in FILTERS if names is None or name in names]
        self.prompts = prompts()

    def reasons(self, candidates: Sequence[Candidate]) -> list[str]:
        """The reason for which each candidate is dropped, empty for one that passes; a filter asks about what is left."""
        found = [""] * len(candidates)
        for name in self.names:
            left = [at for at, one in enumerate(candidates) if not found[at] and (one.evidence or name == OTHERS)]
            replies = self.generator.generate([self._request(candidates[at], name) for at in left]) if left else []
            for at, reply in zip(left, replies, strict=True):
                if self._drops(candidates[at], name, reply.text):
                    found[at] = FILTERS[name]
        return found

    def _request(self, candidate: Candidate, name: str) -> Request:
        own = [self._text(span) for group in candidate.evidence for span in group[:1]] if name == OWN else []
        sources = self._others(candidate) if name == OTHERS else own
        told = self.prompts["answer_from_sources" if sources else "answer_alone"]
        turns = [Message(turn.role, turn.text) for turn in candidate.history]
        asked = Message("user", SEPARATE.join([*sources, candidate.text]))
        system = Message("system", fill(self.prompts["answer_system"], {"sources": told}))
        return Request(Query(name, candidate.text, candidate.history), (), (system, *turns, asked))

    def _others(self, candidate: Candidate) -> list[str]:
        """The best passages that share no character with the evidence."""
        own = [span for group in candidate.evidence for span in group]
        others = (span for span in self.search(candidate.conversation) if not any(touches(span, each) for each in own))
        return [self._text(span)[:LONGEST] for span in [*candidate.near, *islice(others, PASSAGES)]]

    def _text(self, span: Span) -> str:
        """The text of a span behind the headings above it."""
        text = self.documents[span.doc_id].text
        path = above(sections(text), span.start).path
        return "\n".join(filter(None, [path, text[span.start : span.end]]))

    def _drops(self, candidate: Candidate, name: str, reply: str) -> bool:
        if candidate.unanswerable:
            return not (refused(reply, self.prompts["unknown"]) or declines(reply))
        return self.agrees(candidate, reply) != (name == OWN)

    def agrees(self, candidate: Candidate, reply: str) -> bool:
        """True if a reply gives the answer of a question: by the rules of `correctness`, or else by SQuAD's F1."""
        for answer in candidate.answers:
            compared = decide(candidate.text, reply, answer, self.language)
            words = [normalised(text, self.language).split() for text in (reply, answer)]
            if (compared.value if compared else f1(*words)) >= AGREES:
                return True
        return False
