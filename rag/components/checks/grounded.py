"""Whether claims without a citation are similar to a context."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.components.checks.failure_action import SentenceCheck, shortened
from rag.components.checks.nearness import nearest, numbered
from rag.core.checks import check_number
from rag.core.roles import Embedder
from rag.core.text.citations import CitedSentence, cited_sentences, without_markers
from rag.core.types import Finding, Reply, Request


@dataclass(frozen=True)
class GroundedCheck(SentenceCheck):
    """Fails for a claim without a citation whose cosine with every passage is below `theta`, by an embedder.

    The passages are the contexts and their sentences, because a sentence has a low cosine with a long context that contains it.
    A claim that a context contains word for word passes without vectors.
    """

    name: ClassVar[str] = "grounded"
    embedder: Embedder
    theta: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("check.grounded.theta", self.theta, 0, 1)

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """One finding per claim that is far from all contexts; the texts of all requests are embedded in one batch."""
        claims = [self._unquoted(request, reply.text) for request, reply in zip(requests, replies, strict=True)]
        texts = [[_text(reply.text, claim) for claim in own] for reply, own in zip(replies, claims, strict=True)]
        passages = [_passages(request) if own else [] for request, own in zip(requests, claims, strict=True)]
        rows = numbered([*texts, *passages])
        vectors = self.embedder.embed_documents(list(rows)) if rows else None
        findings: list[list[Finding]] = [[] for _ in requests]
        for number, own in enumerate(claims):
            if own and vectors is not None:
                ours, theirs = (vectors[[rows[text] for text in part]] for part in (texts[number], passages[number]))
                findings[number] = self._far(replies[number].text, own, nearest(ours, theirs).tolist())
        return findings

    def failures(self, request: Request, reply: str) -> list[Finding]:
        """One finding per claim that is far from all contexts."""
        return self.inspect([request], [Reply(reply)])[0]

    def _far(self, reply: str, claims: Sequence[CitedSentence], cosines: Sequence[float]) -> list[Finding]:
        far = [(claim, cosine) for claim, cosine in zip(claims, cosines, strict=True) if cosine < self.theta]
        return [
            self.finding(f"no context is near ({cosine:.2f}): {shortened(reply[one.start : one.end])}", one.start, one.end)
            for one, cosine in far
        ]

    def _unquoted(self, request: Request, reply: str) -> list[CitedSentence]:
        """The claims that cite no context and that no context contains word for word."""
        contexts = [" ".join(chunk.text.split()) for chunk in request.contexts]
        return [one for one in self.uncited(request, reply)[0] if not any(_text(reply, one) in text for text in contexts)]


def _text(reply: str, sentence: CitedSentence) -> str:
    return " ".join(without_markers(reply[sentence.start : sentence.end]).split())


def _passages(request: Request) -> list[str]:
    parts = [(chunk.text, one) for chunk in request.contexts for one in cited_sentences(chunk.text)]
    return [*(chunk.text for chunk in request.contexts), *(" ".join(text[one.start : one.end].split()) for text, one in parts)]
