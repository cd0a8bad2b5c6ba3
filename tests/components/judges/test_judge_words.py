"""Words, numbers, names and negations of a text."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.judges.words import words


def stems(text: str, kind: str) -> list[str]:
    return [word.stem for word in words(text) if word.kind == kind]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("1,500", "1500.0"),
        ("two", "2"),
        ("third", "3rd"),
        ("2.4 million", "2,400,000"),
        ("1 billion", "1bn"),
        ("the 1990s", "the 1990"),
        ("twice", "two"),
    ],
)
def test_numbers_are_compared_by_value(one: str, two: str) -> None:
    assert stems(one, "number") == stems(two, "number") != []


@pytest.mark.parametrize(("one", "two"), [("25", "2.5"), ("25", "26"), ("5", "5 million"), ("1,5", "1500")])
def test_different_numbers_differ(one: str, two: str) -> None:
    assert stems(one, "number") != stems(two, "number")


def test_metres_are_no_millions() -> None:
    assert stems("230 m", "number") == ["#230"]


def test_dates_are_year_month_and_day() -> None:
    (year, month, day) = words("2004-11-02")
    assert (year.stem, month.stem, day.stem) == ("#2004", "month 11", "#2")
    assert [(word.start, word.end) for word in (year, month, day)] == [(0, 4), (5, 7), (8, 10)]
    assert stems("Nov. 2, 2004", "month") == stems("2 November 2004", "month") == ["month 11"]


def test_may_is_a_month_only_with_a_capital() -> None:
    assert stems("It may rain in May", "month") == ["month 5"]


def test_names_begin_with_a_capital_and_openers_are_none() -> None:
    assert stems("Instead, Anna met the Keller family", "name") == ["anna", "keller"]
    assert stems("He met Anna's sister", "name") == ["anna"]


@pytest.mark.parametrize("text", ["is not paid", "isn't paid", "isn’t paid", "never paid", "paid without", "failed to pay"])
def test_negations(text: str) -> None:
    assert len(stems(text, "negation")) == 1


@given(st.text())
def test_offsets_are_those_of_the_text(text: str) -> None:
    found = words(text)
    assert all(0 <= word.start < word.end <= len(text) for word in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
