"""What a model is given of a conversation, and what is said of a memory that fell back."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Document, Finding, Material, Message, Query, Ranking, Recalled, Span
from rag.pipeline.prompt.excerpts import Excerpts
from rag.pipeline.prompt.prompt_assembly import Reading


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
    (found,) = reading.prepare([query], reading.excerpts.screen([query], rankings, corpus), corpus)
    assert found.request is not None
    return found.request.messages[0].content, found.screened.findings


def test_what_is_recalled_reaches_the_prompt() -> None:
    assert prepared(Recalled(summary="They spoke of leave.")) == ("They spoke of leave.|And then?", ())
    assert prepared(Recalled(note="cannot be reached"))[1] == (Finding("memory", "cannot be reached"),)


class Strict:
    """A screen that takes out every passage with an `x`, and flags those with a `y`."""

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        asks = {"x": "quarantine", "y": "flag"}
        rows = [[hit.chunk.text for hit in row] for row in contexts]
        found = [[(number, asks[text]) for number, text in enumerate(row, 1) if text in asks] for row in rows]
        return [[Finding("strict", "holds it", action, number, 0, 1) for number, action in row] for row in found]


def test_findings_number_contexts_as_they_are_read_and_name_those_that_are_not() -> None:
    corpus = Corpus.of((Document("d", "xyzxy"),), [Span("d", start, start + 1) for start in range(5)])
    rankings = Rankings.pack([[(place, float(-place)) for place in range(5)], [(2, 1.0)]])
    (first, second) = Excerpts(5, screens={"strict": Strict()}).screen([Query("a", "?"), Query("b", "?")], rankings, corpus)
    assert [passage.positions for passage in first.kept] == [(1,), (2,), (4,)]
    assert [(one.action, one.context, one.passage) for one in first.findings] == [
        ("quarantine", 0, "d:0-1"),
        ("flag", 1, "d:1-2"),
        ("quarantine", 0, "d:3-4"),
        ("flag", 3, "d:4-5"),
    ]
    assert ([passage.positions for passage in second.kept], second.findings) == ([(2,)], ())
