"""Contradictions by negation and by opposites."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.judges.opposites import _nearest, contradicting
from rag.components.judges.passages import Passages, Sentence, clauses
from rag.core.text.values.words import Word

PASSAGE = "Unpaid leave is not granted during probation. Requests are sent before the first day of leave. The door is open."


def against(claim: str, *contexts: str) -> tuple[str, ...]:
    return contradicting(claim, Passages(contexts or (PASSAGE,)))


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Unpaid leave is granted during probation.", ("not",)),
        ("Requests are not sent before the first day of leave.", ("not",)),
        ("Requests are sent after the first day of leave.", ("after",)),
    ],
)
def test_negations_and_opposites_contradict(claim: str, said: tuple[str, ...]) -> None:
    assert against(claim) == said


@pytest.mark.parametrize(
    "claim",
    [
        "Unpaid leave is not granted during probation.",
        "During probation, unpaid leave is not granted.",
        "Requests are sent before the first day of leave.",
        "The boiler was never repaired by anyone in Basel.",
        "",
    ],
)
def test_what_agrees_or_is_about_something_else_is_not(claim: str) -> None:
    assert against(claim) == ()


def test_a_passage_that_says_as_much_and_agrees_settles_it() -> None:
    claim = "Unpaid leave is granted in the second year."
    denied, granted = "In the second year unpaid leave is not granted.", "Granted is unpaid leave in the second year."
    assert against(claim, denied) == ("not",)
    assert against(claim, denied, granted) == against(claim, granted, denied) == ()


class Alike(str):
    """A text whose hash is that of all others: a set of such is read in the order in which it was made."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 1


def test_clauses_that_hold_the_same_are_told_apart_by_their_place_and_not_by_rounding() -> None:
    text = "c b a, a b c"
    words = tuple(Word(Alike(letter), at, at + 1, "word", True) for at, letter in enumerate(text) if letter.isalpha())
    weights = {Alike("a"): 0.1, Alike("b"): 0.2, Alike("c"): 0.3}
    sentence = Sentence(Passages((text,)).sentences[0].where, text, words, frozenset(weights))
    assert _nearest(sentence, weights) == list(words[:3])


@given(st.text(alphabet="ab ,;.and\n"))
def test_clauses_are_all_of_a_sentence(text: str) -> None:
    assert "".join(text[start:end] for start, end in clauses(text)) == text
