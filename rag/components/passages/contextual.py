"""A model situates every chunk in its document: contextual retrieval (Anthropic, "Introducing Contextual Retrieval", 2024)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.passages.surroundings import Surroundings, surroundings
from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.models.chat import Given, ask, spent
from rag.core.records import Message, Query, Request, Written
from rag.core.roles import CostEstimate, Generator, fingerprint
from rag.core.text.refusals import refused
from rag.core.text.templates import check_template, fill

BATCH = 64
"""Requests that are held in memory at a time."""
SHORTEST = 10
"""Characters of the shortest reply that can situate a chunk."""
CHARACTERS = 4
"""Assumed characters of a token."""


@dataclass(frozen=True)
class ContextualText:
    """Writes what a chat model says of the place of a chunk in its document above the text of `TitledText`.

    `instruction` is the system message, `prompt` the user message with the placeholders {document}, {headings} and {chunk}. Of
    a longer document, {document} is the part of `document_chars` characters around the chunk; neighbouring chunks have the
    same part where they can, so that servers which keep the beginnings of prompts read it once. {chunk} is cut there, too.
    `longest` is the most characters of a reply that is used. A chunk without such a reply has the text of `TitledText`.
    """

    generator: Generator
    instruction: str
    prompt: str
    document_chars: int = 8000
    longest: int = 600
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("passage.prompt", self.prompt, ("document", "chunk"), ("document", "headings", "chunk"))
        check_whole("passage.document_chars", self.document_chars, 2)
        check_whole("passage.longest", self.longest, SHORTEST)

    def fingerprint(self) -> str:
        """The fingerprint of the generator."""
        return fingerprint(self.generator)

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The texts of `written`."""
        return [written.text for written in self.written(corpus)]

    def written(self, corpus: Corpus) -> Sequence[Written]:
        """One text per chunk; with a note where no reply could be used."""
        found = list(surroundings(corpus))
        return [written for at in range(0, len(found), BATCH) for written in self._written(found[at : at + BATCH])]

    def spending(self, requests: int, prompt: int, reply: int | None = None) -> tuple[int, float]:
        """The estimate of the generator for prompts with the part of a document that is read; (0, 0.0) if it has none."""
        if not isinstance(self.generator, CostEstimate):
            return 0, 0.0
        own = len(self.instruction + self.prompt) // CHARACTERS
        return self.generator.spending(requests, own + min(prompt, 2 * self.document_chars // CHARACTERS), reply)

    def _written(self, chunks: Sequence[Surroundings]) -> Iterator[Written]:
        for found, reply in zip(chunks, ask(self.generator, list(map(self._request, chunks))), strict=True):
            words, note = self._useful(reply, found)
            yield Written("\n".join(filter(None, (words, found.around(found.header, found.text)))), note, *spent(reply))

    def _useful(self, reply: Given, found: Surroundings) -> tuple[str, str]:
        """The words of a reply on one line, or an empty text and the reason why it is not used."""
        if isinstance(reply, str):
            return "", reply
        words = " ".join(reply.text.split())
        if SHORTEST <= len(words) <= self.longest and words not in " ".join(found.text.split()) and not refused(words):
            return words, ""
        return "", f"the reply is of no use: {words[:80]!r}"

    def _request(self, found: Surroundings) -> Request:
        chunk = found.text[: self.document_chars]
        values = {"document": self._part(found), "headings": found.path, "chunk": chunk}
        system = [Message("system", self.instruction)] if self.instruction else []
        return Request(Query(found.chunk_id, chunk), (), (*system, Message("user", fill(self.prompt, values))))

    def _part(self, found: Surroundings) -> str:
        """The part of the document around a chunk: it begins at one of few places."""
        step, middle = self.document_chars // 2, (found.start + found.end) // 2
        first = min(middle // step * step - step // 2, len(found.document) - self.document_chars)
        return found.document[max(first, 0) : max(first, 0) + self.document_chars]
