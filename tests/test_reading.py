"""What a model is given of a conversation, and what is said of a memory that fell back."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.corpus import Corpus
from rag.rankings import Rankings
from rag.reading import Reading
from rag.records import Document, Finding, Material, Message, Query, Recalled, Span


@dataclass
class Shows:
    """A prompt that shows what was recalled."""

    refusal: str = ""

    def render(self, material: Material) -> tuple[Message, ...]:
        return (Message("user", f"{material.recalled.summary}|{material.query.text}"),)


@dataclass
class Remembers:
    """A memory that recalls the same for every question."""

    recalled: Recalled

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [self.recalled for _ in queries]


def prepared(recalled: Recalled) -> tuple[str, tuple[Finding, ...]]:
    corpus = Corpus.of((Document("d", "text"),), [Span("d", 0, 4)])
    reading = Reading(Shows(), Remembers(recalled), 1)
    query = Query("q", "And then?")
    rankings = Rankings.pack([[(0, 1.0)]])
    (found,) = reading.prepare([query], reading.screen([query], rankings, corpus), corpus)
    assert found.request is not None
    return found.request.messages[0].content, found.screened.findings


def test_what_is_recalled_reaches_the_prompt() -> None:
    assert prepared(Recalled(summary="They spoke of leave.")) == ("They spoke of leave.|And then?", ())


def test_a_memory_that_fell_back_is_told_beside_the_answer() -> None:
    recalled = Recalled(summary="user: My code is 7.", note="sentences were picked: cannot be reached")
    assert prepared(recalled)[1] == (Finding("memory", "sentences were picked: cannot be reached"),)
