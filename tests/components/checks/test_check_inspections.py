"""Checks of replies: what passes and what fails."""

import pytest

from rag.components.checks.citations import CitationsCheck
from rag.components.checks.grounded import GroundedCheck
from rag.components.checks.numbers import NumbersCheck
from rag.components.checks.quotes import QuotesCheck
from rag.components.embedders.hashing import HashingEmbedder
from rag.core.headings import Section
from rag.core.roles import Inspection
from rag.core.types import Chunk, Message, Query, Reply, Request, Span, Turn


def flagged(check: Inspection, reply: str, *contexts: str, question: str = "?", history: tuple[Turn, ...] = ()) -> list[str]:
    chunks = tuple(Chunk(Span("d", 0, len(text)), text, (Section(0, 0, "Heading 77"),)) for text in contexts)
    request = Request(Query("q", question, history), chunks, (Message("user", "?"),))
    (found,) = check.inspect([request], [Reply(reply)])
    assert all(one.end for one in found)
    return [reply[one.start : one.end] for one in found]


def test_every_sentence_cites_something() -> None:
    text = (
        "# Fares\n\nA ticket costs nine crowns [1]. Dogs travel free. These are the rules:\n"
        "- Cats pay. [2]\nYes, indeed.\nAny more?"
    )
    assert flagged(CitationsCheck(), text, "a", "b") == ["Dogs travel free."]
    assert flagged(CitationsCheck(words=2), text, "a", "b") == ["Dogs travel free.", "Yes, indeed."]
    assert flagged(CitationsCheck(words=2), text, "a") == ["Dogs travel free.", "Cats pay.", "Yes, indeed."]


def test_one_citation_may_do() -> None:
    check = CitationsCheck(every=False)
    assert flagged(check, "Dogs travel free. Cats do not [1].", "a") == []
    assert flagged(check, "Dogs travel free. Cats do not [2].", "a") == ["Dogs travel free. Cats do not [2]."]


def test_a_refusal_of_the_prompt_cites_nothing() -> None:
    assert flagged(CitationsCheck(), "Ask the harbour about that.", "a") != []
    assert flagged(CitationsCheck(refusal="Ask the harbour about that."), "Ask the harbour about that.", "a") == []


CONTEXT = "The ferry to Holm leaves at seven in the morning. Tickets are sold at the harbour office until noon."


@pytest.mark.parametrize(
    ("reply", "far"),
    [
        ("The ferry to Holm leaves at seven in the morning.", []),
        ("Tickets are sold at the harbour office.", []),
        ("The ferry to Holm leaves at seven. Elephants dance on frozen moons.", ["Elephants dance on frozen moons."]),
        ("Elephants dance on frozen moons [1].", []),
        ("Elephants dance on frozen moons [2].", ["Elephants dance on frozen moons [2]."]),
    ],
)
def test_what_cites_nothing_is_near_to_something(reply: str, far: list[str]) -> None:
    assert flagged(GroundedCheck(HashingEmbedder(), 0.6), reply, CONTEXT) == far


def test_near_is_measured() -> None:
    reply = "Tickets are sold at the railway station until midnight."
    assert flagged(GroundedCheck(HashingEmbedder(), 0.3), reply, CONTEXT) == []
    assert flagged(GroundedCheck(HashingEmbedder(), 0.99), reply, CONTEXT) == [reply]
    assert flagged(GroundedCheck(HashingEmbedder(), 0.6), reply) == [reply]


def test_numbers_were_read() -> None:
    context = "A ticket costs nine crowns, a year of them 1,200. The fee is 5 %."
    assert flagged(NumbersCheck(), "It costs 9 [3], or 1200 a year, 5% of it a fee [1].", context) == []
    assert flagged(NumbersCheck(), "1. It costs 10.\n2. Or 1300 a year.", context) == ["10", "1300"]
    assert flagged(NumbersCheck(), "Heading 77 says so.", context) == []
    assert flagged(NumbersCheck(), "Twelve crowns for one.", context) == []
    assert flagged(NumbersCheck(words=True), "Twelve crowns for one, nine for the other.", context) == ["Twelve"]


def test_numbers_of_the_question_may_be_repeated() -> None:
    asked = {"question": "Is it 40 days?", "history": (Turn("user", "In 2025?"),)}
    assert flagged(NumbersCheck(), "No, not 40 days in 2025.", "Never.", **asked) == []  # type: ignore[arg-type]
    assert flagged(NumbersCheck(question=False), "No, not 40 days in 2025.", "Never.", **asked) == ["40", "2025"]  # type: ignore[arg-type]


QUOTABLE = "Dogs of *any size* travel free – cats, on the other hand,\ndo not. They said: 'pay up'. See [a list](b) <b>too</b>."


@pytest.mark.parametrize(
    "quotation",
    [
        *('"dogs of any size travel free"', "“Dogs of any size,”", "„travel free - cats“"),
        *("«on the other hand, do not.»", '"Dogs of any size … do not"', '"Dogs [...] free"', '"They said: “pay up”"'),
        *("“They said: “pay up””", '"See a list too"', '"Dogs of any size [1]"', '"[d]ogs of any size"'),
        *('"[big dogs] of any size"', '"travel free—cats"', "“travel free \u2011 cats”", "‘Dogs of any size’"),
        *('by a 3" pipe and a 4" pipe', '"elephants"'),
    ],
)
def test_quotations_that_were_read(quotation: str) -> None:
    assert flagged(QuotesCheck(), f"It says {quotation} [1].", "Nothing.", QUOTABLE) == []


@pytest.mark.parametrize(
    "quotation",
    [
        *('"dogs travel free"', "“no elephants”", "‘no elephants’", "“no “elephants” at all”", '"gs of any si"'),
        *('"do not … dogs of"', '"Nothing. Dogs of any"'),
    ],
)
def test_quotations_that_were_not(quotation: str) -> None:
    assert flagged(QuotesCheck(), f"It says {quotation} [1].", "Nothing.", QUOTABLE) == [quotation]


def test_the_persons_words_may_be_quoted() -> None:
    reply = "By “my big dog” you mean one of any size."
    assert flagged(QuotesCheck(), reply, QUOTABLE, question="What about my big dog?") == []
    assert flagged(QuotesCheck(question=False), reply, QUOTABLE, question="What about my big dog?") == ["“my big dog”"]
