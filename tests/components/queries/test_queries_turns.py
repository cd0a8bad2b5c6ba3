"""Questions as they were typed, and as a person rewrote them."""

import pytest

from rag.components.queries.human import HumanRewrite
from rag.components.queries.turns import TypedTurns
from rag.core.records import Query, Sought, Turn
from rag.core.roles import changes_nothing

HISTORY = (Turn("user", "One?"), Turn("assistant", "1."), Turn("user", "Two?"), Turn("assistant", "2."))
QUERY = Query("q", "Three?", HISTORY, "All three?")


@pytest.mark.parametrize(
    ("turns", "text"), [(1, "Three?"), (2, "Two?\nThree?"), (None, "One?\nTwo?\nThree?"), (9, "One?\nTwo?\nThree?")]
)
def test_the_last_questions_of_the_person_are_searched_for_and_no_answer(turns: int | None, text: str) -> None:
    assert TypedTurns(turns).rewrite([QUERY]) == [Sought(text, (text,))]


def test_one_turn_changes_nothing() -> None:
    assert changes_nothing(TypedTurns(1))
    assert not changes_nothing(TypedTurns())


def test_the_rewrite_of_a_person_is_searched_for_where_there_is_one() -> None:
    assert HumanRewrite().rewrite([QUERY]) == [Sought("All three?", ("All three?",))]
    assert HumanRewrite().rewrite([Query("q", "One?")]) == [Sought("One?", ("One?",))]
    (without,) = HumanRewrite().rewrite([Query("q", "Two?", HISTORY)])
    assert (without.texts, without.note) == (("Two?",), "the golden set has no rewrite")
