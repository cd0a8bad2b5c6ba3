"""Near copies with substituted words."""

from typing import Any

import numpy as np
import pytest
from support.judge_texts import CONTEXTS

from rag.components.judges.opposites import changing, substituted
from rag.components.judges.passages import Passages
from rag.core.assessments import Case
from rag.core.text.values.words import words

SOURCE = ("The old bridge of Basel was painted green by Keller in 2019. The owner of the new bridge lives in Bern.",)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        # The other bridge has Bern near it.
        ("The old bridge of Bern was painted green by Keller in 2019.", []),
        ("The old bridge of Basel was painted green by Meier in 2019.", ["Meier"]),
        ("The old tower of Basel was painted green by Keller.", ["tower"]),
        # Clauses that are left out, words that are added and words in their own places.
        ("The old bridge of Basel was painted green.", []),
        ("The old bridge of Basel was then painted bright green by Keller in 2019.", []),
        # Two words alone are no copy.
        ("A painted wall by the lake.", []),
        ("Bern", []),
    ],
)
def test_substituted_words(claim: str, expected: list[str]) -> None:
    found = substituted(words(claim), Passages(SOURCE))
    assert [claim[word.start : word.end] for word in found] == expected


def test_the_same_words_must_stand_around_it() -> None:
    passages = Passages(("Receipts are kept in blue folders for years.",))
    assert [word.stem for word in substituted(words("Receipts kept in red folders"), passages)] == ["red"]
    # One word before it and one behind it are fewer than AROUND.
    assert substituted(words("Papers kept in red folders of paper"), passages) == []
    # The context has red before folders too.
    other = Passages(("Receipts are kept in blue folders for years. Red folders are burnt.",))
    assert substituted(words("Receipts kept in red folders for years"), other) == []


def test_a_fact_always_changes_and_a_word_where_nothing_is_like_it() -> None:
    claim = "bought tower Meier 1999"
    said, pieces = words(claim), [(0, 3), (3, 6), (7, 12), (13, 18), (19, 23)]
    found = changing(said, pieces, np.array([0.9, 0.41, 0.4, 0.99, 0.99]))
    assert [claim[word.start : word.end] for word in found] == ["tower", "Meier", "1999"]
    assert [word.kind for word in changing(said, [], np.empty(0))] == ["name", "number"]


def test_a_denied_copy_is_not_supported(shipped: Any) -> None:
    text = "The boiler in the Basel office was not replaced in November 2019 by the firm Keller & Sons."
    assert shipped.judge([Case(text, CONTEXTS)])[0].support < shipped.threshold
