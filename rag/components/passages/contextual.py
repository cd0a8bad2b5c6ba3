"""A model situates every chunk in its document: contextual retrieval (Anthropic, "Introducing Contextual Retrieval", 2024)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.passages.titled import TitledText
from rag.core.assessments import Spent
from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.models.chat import Given, ask, spent
from rag.core.roles import Generator
from rag.core.text.refusals import refused
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

BATCH = 64
"""Requests that are held in memory at a time."""
SHORTEST = 10
"""Characters of the shortest reply that can situate a chunk."""
COPY = 12
"""So many words in a row of a reply that stand in the document are a copy: it would find this chunk for another one."""
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ContextualText:
    """Writes what a chat model says of the place of a chunk in its document above the text of `TitledText`.

    `instruction` is the system message, `prompt` the user message with the placeholders {document}, {headings} and {chunk}. Of
    a longer document, {document} is the part of `document_chars` characters around the chunk. Neighbouring chunks have the same
    part where they can, so that servers which keep the beginnings of prompts read it once. {chunk} is cut there, too. `longest`
    is the most characters of a reply that is used. A chunk without such a reply has the text of `TitledText`.
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

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The texts of `written`."""
        return [text for text, _, _ in self.written(corpus)]

    def written(self, corpus: Corpus) -> Sequence[tuple[str, str, Spent]]:
        """For each chunk its text, the reason if no reply could be used, and what the model took."""
        titled, replies = TitledText().texts(corpus), list[Given]()
        for at in range(0, len(corpus), BATCH):
            some = range(at, min(at + BATCH, len(corpus)))
            replies += ask(self.generator, [self._request(corpus, position, titled[position]) for position in some])
        parts = (self._part(corpus, position) for position in range(len(corpus)))
        found = [self._useful(*each) for each in zip(replies, corpus.texts, parts, strict=True)]
        rows = zip(found, titled, replies, strict=True)
        return [("\n".join(filter(None, (words, text))), why, Spent(*spent(reply))) for (words, why), text, reply in rows]

    def _useful(self, reply: Given, chunk: str, document: str) -> tuple[str, str]:
        """The words of a reply on one line, or an empty text and the reason why it is not used."""
        if isinstance(reply, str):
            return "", reply
        words = " ".join(reply.text.split())
        said, written = WORD.findall(words.lower()), f" {' '.join(WORD.findall(document.lower()))} "
        if any(f" {' '.join(said[at : at + COPY])} " in written for at in range(len(said) - COPY + 1)):
            return "", f"the reply copies the document: {words[:80]!r}"
        if SHORTEST <= len(words) <= self.longest and words not in " ".join(chunk.split()) and not refused(words):
            return words, ""
        return "", f"the reply is of no use: {words[:80]!r}"

    def _request(self, corpus: Corpus, position: int, titled: str) -> Request:
        """The request for one chunk."""
        document = corpus.documents[int(corpus.doc[position])]
        start, end = int(corpus.start[position]), int(corpus.end[position])
        chunk, above = document.text[start : min(end, start + self.document_chars)], titled.partition("\n")[0]
        values = {"document": self._part(corpus, position), "headings": above, "chunk": chunk}
        system = [Message("system", self.instruction)] if self.instruction else []
        query = Query(f"{document.doc_id}:{start}-{end}", chunk)
        return Request(query, (), (*system, Message("user", fill(self.prompt, values))))

    def _part(self, corpus: Corpus, position: int) -> str:
        """The part of the document around a chunk; it begins at one of few places."""
        text, step = corpus.documents[int(corpus.doc[position])].text, self.document_chars // 2
        middle = (int(corpus.start[position]) + int(corpus.end[position])) // 2
        first = max(0, min(middle // step * step - step // 2, len(text) - self.document_chars))
        return text[first : first + self.document_chars]
