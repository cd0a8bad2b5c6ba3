"""What a check does when it fails, as its config says, and which sentences of a reply it is about."""

from collections.abc import Sequence
from typing import cast

from rag.core.errors import ConfigError, closest
from rag.core.records import Action, Chunk
from rag.core.text.citations import CitedSentence, cited_sentences, without_markers
from rag.core.text.refusals import WORDS, claims, refused

ON_FAILURE = ("flag", "refuse", "regenerate")


def action_of(check: str, on_failure: str, advice: str = "") -> Action:
    """What a finding asks for; ConfigError for what no check can do, and for asking a model again without advice."""
    where = f"check.{check}"
    if on_failure not in ON_FAILURE:
        raise ConfigError(f"{where}.on_failure", f"is {on_failure!r}", closest(str(on_failure), ON_FAILURE))
    if on_failure == "regenerate" and not advice.strip():
        raise ConfigError(f"{where}.advice", "is empty", "write what the model is to do better when it is asked again")
    return cast(Action, on_failure)


def texts_of(chunks: Sequence[Chunk]) -> list[str]:
    """What a model reads of contexts, with the headings above them."""
    return [f"{chunk.section_at(chunk.span.start)}\n{chunk.text}" for chunk in chunks]


def asserted(reply: str, refusal: str, chunks: Sequence[Chunk], words: int = 1) -> list[CitedSentence]:
    """The sentences of a reply that need something to rest on; none where it declines to answer.

    Questions, headings, refusals, what ends in a colon and what has fewer than `words` words need nothing.
    """
    if refused(reply, refusal, [chunk.text for chunk in chunks]):
        return []
    claimed = set(claims(reply)[0])
    return [
        sentence
        for sentence in cited_sentences(reply)
        if (sentence.start, sentence.end) in claimed and _weighs(reply[sentence.start : sentence.end], words)
    ]


def shortened(text: str, most: int = 60) -> str:
    """A sentence as it stands in a finding: one line, and not all of a long one."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _weighs(sentence: str, words: int) -> bool:
    plain = without_markers(sentence).rstrip("\"'”’)*_ ")
    return not plain.endswith(":") and len(WORDS.findall(plain)) >= words
