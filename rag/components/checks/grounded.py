"""Whether what a reply says without citing anything is near to anything that was read."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of, asserted, shortened
from rag.components.checks.nearness import distinct, nearest
from rag.core.errors import ConfigError
from rag.core.records import Finding, Reply, Request
from rag.core.roles import Embedder
from rag.core.text.citations import CitedSentence, cited_sentences, without_markers


@dataclass(frozen=True)
class GroundedCheck:
    """Fails where a sentence without a citation has no passage with a cosine of at least `theta`, by an embedder.

    A passage is a context, or one of its sentences: a sentence stands apart from a long context even if it is a part of it.
    What stands in a context word for word needs no vector.
    """

    embedder: Embedder
    theta: float = 0.6
    words: int = 3
    on_failure: str = "flag"
    advice: str = ""
    refusal: str = ""

    def __post_init__(self) -> None:
        action_of("grounded", self.on_failure, self.advice)
        if not 0 <= self.theta <= 1:
            raise ConfigError("check.grounded.theta", f"is {self.theta}", "a cosine, from 0 to 1")
        if self.words < 1:
            raise ConfigError("check.grounded.words", f"is {self.words}", "1 or more")

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """A finding per sentence that nothing which was read is near to."""
        pairs = list(zip(requests, replies, strict=True))
        bare = [self._bare(request, reply.text) for request, reply in pairs]
        texts = [[_plain(reply.text, one) for one in own] for (_, reply), own in zip(pairs, bare, strict=True)]
        passages = [_passages(request) if own else [] for (request, _), own in zip(pairs, bare, strict=True)]
        number = distinct([*texts, *passages])
        vectors = self.embedder.embed_documents(list(number)) if number else None
        found: list[list[Finding]] = [[] for _ in pairs]
        for place, own in enumerate(bare):
            if own and vectors is not None:
                ours, theirs = (vectors[[number[text] for text in row]] for row in (texts[place], passages[place]))
                found[place] = self._far(pairs[place][1].text, own, [float(value) for value in nearest(ours, theirs)])
        return found

    def _far(self, reply: str, own: Sequence[CitedSentence], near: Sequence[float]) -> list[Finding]:
        action = action_of("grounded", self.on_failure, self.advice)
        told = [
            (one, f"nothing that was read is near ({value:.2f}): {shortened(reply[one.start : one.end])}")
            for one, value in zip(own, near, strict=True)
            if value < self.theta
        ]
        return [Finding("grounded", what, action, start=one.start, end=one.end, advice=self.advice) for one, what in told]

    def _bare(self, request: Request, reply: str) -> list[CitedSentence]:
        """Sentences that cite nothing and stand in no context."""
        read = [" ".join(chunk.text.split()) for chunk in request.contexts]
        sentences = asserted(reply, self.refusal, request.contexts, self.words)
        uncited = [one for one in sentences if not one.cites(len(request.contexts))]
        return [one for one in uncited if not any(_plain(reply, one) in text for text in read)]


def _plain(reply: str, sentence: CitedSentence) -> str:
    return " ".join(without_markers(reply[sentence.start : sentence.end]).split())


def _passages(request: Request) -> list[str]:
    parts = [(chunk.text, one) for chunk in request.contexts for one in cited_sentences(chunk.text)]
    return [*(chunk.text for chunk in request.contexts), *(" ".join(text[one.start : one.end].split()) for text, one in parts)]
