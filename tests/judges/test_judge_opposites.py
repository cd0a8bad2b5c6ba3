"""Contradictions by negation and by opposites."""

import pytest

from rag.judges.opposites import contradicting
from rag.judges.passages import Passages

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
def test_what_is_turned_round_is_told(claim: str, said: tuple[str, ...]) -> None:
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
