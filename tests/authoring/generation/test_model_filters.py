"""Filters that ask a model: what its answers say about a question."""

from collections.abc import Callable

import pytest
from support.question_model import DOCUMENTS
from support.scripted_generator import Scripted

from rag.authoring.candidates import Candidate
from rag.authoring.generation.model_filters import CLOSED, FILTERS, OTHERS, OWN, PASSAGES, ModelFilters
from rag.core.errors import ConfigError
from rag.core.types import Reply, Request, Span, Turn

MOORINGS = DOCUMENTS["moorings.md"].text
OPEN, VISITORS = "The boathouse at Tolley is open from noon, and its crane lifts 900 kg.", "Visitors pay 12 pounds for a night."


def place(quote: str) -> Span:
    start = MOORINGS.index(quote)
    return Span("moorings.md", start, start + len(quote))


QUESTION = Candidate("How heavy may a boat be?", "factoid", "model:factoid", "", ((place(OPEN),),), ("900 kg",))
NEAR_MISS = Candidate(
    "What does a week cost?", "unanswerable", "model:unanswerable", near=(place(VISITORS),), unanswerable=True
)


def search(text: str) -> list[Span]:
    """All spans, the evidence first."""
    others = [Span(name, 0, len(document.text)) for name, document in DOCUMENTS.items() if name != "moorings.md"]
    return [place(OPEN), place(VISITORS), *others]


def filters(says: Callable[[Request], str], *names: str) -> tuple[Scripted, ModelFilters]:
    model = Scripted(lambda request: Reply(says(request)))
    return model, ModelFilters(DOCUMENTS, model, search, "english", names or None)


def test_three_requests_for_a_question_that_passes() -> None:
    model, own = filters(lambda request: "900 kg" if OPEN in request.messages[-1].content else "unknown")
    assert own.reasons([QUESTION]) == [""]
    sent = [request.messages[-1].content for request in model.requests]
    assert [OPEN in text for text in sent] == [True, False, False]
    assert sent[0] == f"Moorings > Tolley\n{OPEN}\n\nHow heavy may a boat be?"
    assert sent[1] == "How heavy may a boat be?"
    assert sent[2].count("\n\n") >= PASSAGES
    assert VISITORS in sent[2]
    assert DOCUMENTS["leave-2019.md"].text.strip() in sent[2]
    assert DOCUMENTS["boats.md"].text not in sent[2]


@pytest.mark.parametrize(
    ("says", "dropped"),
    [
        (lambda request: "unknown", OWN),
        (lambda request: "800 kg", OWN),
        (lambda request: "900 kg", CLOSED),
        (lambda request: "unknown" if request.messages[-1].content == QUESTION.text else "It lifts 900 kilograms.", OTHERS),
    ],
)
def test_a_question_is_dropped_by_the_first_filter_that_objects(says: Callable[[Request], str], dropped: str) -> None:
    model, own = filters(says)
    assert own.reasons([QUESTION, QUESTION]) == [FILTERS[dropped]] * 2
    assert len(model.requests) == 2 * (1 + list(FILTERS).index(dropped))


@pytest.mark.parametrize("reply", ["unknown", "Unknown.", "The sources do not say what a week costs.", ""])
def test_an_unanswerable_question_must_be_declined_with_the_best_passages(reply: str) -> None:
    model, own = filters(lambda request: reply)
    assert own.reasons([NEAR_MISS]) == [""]
    (request,) = model.requests
    assert VISITORS in request.messages[-1].content
    assert filters(lambda request: "84 pounds")[1].reasons([NEAR_MISS]) == [FILTERS[OTHERS]]


def test_earlier_turns_are_part_of_the_request() -> None:
    history = (Turn("user", "Is there a crane?"), Turn("assistant", "Yes, at Tolley."))
    asked = Candidate("How much does it lift?", "follow_up", "model:follow_up", "", QUESTION.evidence, ("900 kg",), {}, history)
    model, own = filters(lambda request: "900 kg", OWN)
    assert own.reasons([asked]) == [""]
    assert [message.content for message in model.requests[0].messages[1:3]] == ["Is there a crane?", "Yes, at Tolley."]


def test_filters_by_name() -> None:
    model, own = filters(lambda request: "900 kg", OWN)
    assert own.reasons([QUESTION, NEAR_MISS]) == ["", ""]
    assert len(model.requests) == 1
    assert ModelFilters(DOCUMENTS, model, search, "english", ()).reasons([QUESTION]) == [""]
    with pytest.raises(ConfigError, match="closed_book"):
        filters(lambda request: "", "closed_bock")
