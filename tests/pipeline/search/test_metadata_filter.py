"""Conditions on metadata: equality as forms send it, and ranges of numbers and dates."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import UserError
from rag.core.types import Value
from rag.pipeline.search.metadata_filter import fitting, written_conditions
from rag.pipeline.search.search_filter import EVERYTHING, Scope, where_scope

YEARS: tuple[Value | None, ...] = (2022, 2023.0, "2024", 2025.5, None, True, "soon")
DATES: tuple[Value | None, ...] = ("2023-12-31", "2024-01-01T09:30", "2024-06", "2024", 2024, None)


def chosen(condition: Any, values: tuple[Value | None, ...]) -> list[Value | None]:
    return [value for value, fits in zip(values, fitting("here", condition, values), strict=True) if fits]


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        (2023, [2023.0]),
        ("2022", [2022]),
        (["soon", 2024.0], ["2024", "soon"]),
        ([], []),
        ("true", [True]),
        (1, []),
        ({"from": 2023}, [2023.0, "2024", 2025.5]),
        ({"from": "2023", "to": 2024}, [2023.0, "2024"]),
        ({"to": 2022.5}, [2022]),
        ({"from": 2024, "to": 2023}, []),
    ],
)
def test_values_and_ranges_of_numbers(condition: Any, left: list[Value]) -> None:
    assert chosen(condition, YEARS) == left


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ({"from": "2024-01-01"}, ["2024-01-01T09:30", "2024-06", "2024"]),
        ({"to": "2024-01-01"}, ["2023-12-31", "2024-01-01T09:30", "2024"]),
        ({"from": "2024", "to": "2024"}, ["2024-01-01T09:30", "2024-06", "2024", 2024]),
        ({"from": 2024, "to": 2024}, ["2024-01-01T09:30", "2024-06", "2024", 2024]),
        ({"from": "2024-01", "to": "2024-05"}, ["2024-01-01T09:30", "2024"]),
    ],
)
def test_ranges_of_dates_include_their_ends(condition: Any, left: list[Value]) -> None:
    assert chosen(condition, DATES) == left


@given(st.dates(), st.dates(), st.dates())
def test_dates_are_ordered_as_in_the_calendar(low: Any, high: Any, day: Any) -> None:
    condition = {"from": low.isoformat(), "to": high.isoformat()}
    assert fitting("here", condition, [day.isoformat()]) == [low <= day <= high]


@pytest.mark.parametrize(
    ("condition", "what"),
    [
        ({}, "has other ends"),
        ({"low": 1}, "has other ends"),
        ({"from": True}, "neither a number nor a date"),
        ({"from": "May"}, "neither a number nor a date"),
        ({"from": 1, "to": "1.5.2024"}, "neither a number nor a date"),
        ({"from": 12.5}, "no number is there to compare, but 'current'"),
        ({"from": "2024-01-01"}, "no date is there to compare, but 'current'"),
    ],
)
def test_ranges_that_compare_nothing_are_refused(condition: Any, what: str) -> None:
    with pytest.raises(UserError, match=what) as caught:
        fitting("within.metadata.status", condition, [None, "current", True])
    assert caught.value.where == "within.metadata.status"


def test_conditions_of_the_command_line() -> None:
    texts = ["status=current", "team=a", "team=b=c", "year=2023..2024", "date=2024-05..", "rate=..1.5"]
    assert written_conditions(texts) == {
        "status": ["current"],
        "team": ["a", "b=c"],
        "year": {"from": "2023", "to": "2024"},
        "date": {"from": "2024-05"},
        "rate": {"to": "1.5"},
    }
    assert where_scope([]) is EVERYTHING
    assert where_scope(["a=1"]) == Scope(metadata={"a": ["1"]})


@pytest.mark.parametrize("texts", [["a"], ["=1"], ["a="], ["a=.."], ["a=1..2", "a=3"], ["a=3", "a=1..2"]])
def test_conditions_that_cannot_be_read(texts: list[str]) -> None:
    with pytest.raises(UserError, match="--where"):
        written_conditions(texts)
