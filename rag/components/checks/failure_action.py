"""The base classes of checks: what follows when a check fails, and which sentences of a reply it reads."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from rag.core.checks import check_choice, check_whole
from rag.core.errors import ConfigError
from rag.core.text.citations import CitedSentence, without_markers
from rag.core.text.refusals import WORDS, claiming_sentences, refused
from rag.core.types import Action, Chunk, Finding, Reply, Request


@dataclass(frozen=True, kw_only=True)
class ReplyCheck(ABC):
    """A check of replies; `on_failure` is flag, refuse, or regenerate: the model is asked once more with `advice`."""

    name: ClassVar[str]
    on_failure: str = "flag"
    advice: str = ""

    def __post_init__(self) -> None:
        check_choice(f"check.{self.name}.on_failure", self.on_failure, ("flag", "refuse", "regenerate"))
        if self.on_failure == "regenerate" and not self.advice.strip():
            raise ConfigError(f"check.{self.name}.advice", "is empty", "write what the model must do better in its next reply")

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """The findings of each reply."""
        return [self.failures(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    @abstractmethod
    def failures(self, request: Request, reply: str) -> list[Finding]:
        """The findings of one reply."""

    def finding(self, what: str, start: int, end: int) -> Finding:
        """A finding about the characters [start, end) of a reply."""
        return Finding(self.name, what, cast(Action, self.on_failure), start=start, end=end, advice=self.advice)


@dataclass(frozen=True, kw_only=True)
class SentenceCheck(ReplyCheck):
    """A check of the claims of a reply: sentences of at least `words` words.

    `refusal` is the refusal of the prompt; a reply that declines to answer has no claims.
    """

    words: int = 3
    refusal: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(f"check.{self.name}.words", self.words, 1)

    def uncited(self, request: Request, reply: str) -> tuple[list[CitedSentence], int]:
        """The claims that cite no context, and the number of all claims."""
        sentences = self._claims(request, reply)
        return [sentence for sentence in sentences if not sentence.cites(len(request.contexts))], len(sentences)

    def _claims(self, request: Request, reply: str) -> list[CitedSentence]:
        """The claims of a reply. Questions, headings, refusals and sentences that end in a colon are none."""
        if refused(reply, self.refusal, [chunk.text for chunk in request.contexts]):
            return []
        return [sentence for sentence in claiming_sentences(reply) if self._is_long(reply[sentence.start : sentence.end])]

    def _is_long(self, sentence: str) -> bool:
        bare = without_markers(sentence).rstrip("\"'”’)*_ ")
        return not bare.endswith(":") and len(WORDS.findall(bare)) >= self.words


def check_before_model(name: str, on_failure: str) -> None:
    """Raise ConfigError unless a check of contexts refuses or flags."""
    if on_failure not in ("refuse", "flag"):
        what = f"is {on_failure!r}; before a model is asked there is no reply to regenerate"
        raise ConfigError(f"check.{name}.on_failure", what, "refuse or flag")


def finding_before_model(name: str, what: str, on_failure: str) -> Finding:
    """A finding about a question: it is declined, or flagged."""
    return Finding(name, what, "flag" if on_failure == "flag" else "abstain")


def texts_of(chunks: Sequence[Chunk]) -> list[str]:
    """The texts of contexts, each after the headings above it, as a model reads them."""
    return [f"{chunk.section_at(chunk.span.start)}\n{chunk.text}" for chunk in chunks]


def shortened(text: str, most: int = 60) -> str:
    """A text on one line of at most `most` characters, for a message."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
