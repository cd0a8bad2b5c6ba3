"""Markers become citations; markers to nothing do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.citations import cited


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Yes [1].", (1,)),
        ("Yes [3][1], no [ 3 ; 2 ].", (3, 1, 2)),
        ("Yes [0], [4], [-1], [1.5], [x], (2), [], [1 2].", ()),
        ("Yes [" + "9" * 5000 + "].", ()),
        ("", ()),
    ],
)
def test_markers(text: str, numbers: tuple[int, ...]) -> None:
    assert cited(text, 3) == numbers


@given(st.text(alphabet="[]12, ;x"), st.integers(0, 5))
def test_only_contexts_are_cited_and_none_twice(text: str, contexts: int) -> None:
    numbers = cited(text, contexts)
    assert set(numbers) <= set(range(1, contexts + 1))
    assert len(set(numbers)) == len(numbers)
