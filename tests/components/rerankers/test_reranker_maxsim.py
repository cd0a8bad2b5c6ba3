"""Late interaction on token vectors made by hand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import MagicMock, call

import numpy as np
import pytest
from numpy.typing import NDArray

from rag.components.rerankers.maxsim import MaxSimReranker, late_interaction
from rag.core.encoded_passages import KnownPassages, joined, passages_of, rounded
from rag.core.errors import DataError
from rag.core.memo import Recent
from rag.core.numbers import unit_rows

AXES: dict[str, tuple[float, float]] = {"right": (1, 0), "up": (0, 1), "left": (-1, 0), "between": (0.6, 0.8)}


@dataclass
class Compass:
    """One token per word, in the plane; keeps the texts that it encoded."""

    name: str
    asked: list[str] = field(default_factory=list)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.asked += texts
        return [np.array([AXES[word] for word in text.split()], np.float32).reshape(-1, 2) for text in texts]

    def fingerprint(self) -> str:
        return self.name


@pytest.fixture
def compass(request: pytest.FixtureRequest) -> Compass:
    return Compass(request.node.name)


def test_mean_of_the_best_cosines_by_hand(compass: Compass) -> None:
    passages = ["right", "up right", "between", "left", "between left", ""]
    (found,) = MaxSimReranker(compass).score(["right up"], [passages], [[0.0] * 6])
    between = (95 + 127) / 2 / math.hypot(95, 127)  # 0.6 is 95.25 steps of 0.8 / 127
    assert found == pytest.approx([(1 + 0) / 2, 1, between, (-1 + 0) / 2, between, 0])


def test_without_tokens_every_score_is_zero(compass: Compass) -> None:
    assert MaxSimReranker(compass).score([""], [["right", ""]], [[0.0, 0.0]]) == [[0.0, 0.0]]
    none, some = rounded(np.zeros((0, 2), np.float32)), rounded(np.ones((1, 2), np.float32))
    assert late_interaction(none, some) == late_interaction(some, none) == 0.0


def test_a_passage_is_encoded_once_while_it_is_remembered(compass: Compass) -> None:
    for _ in range(2):
        MaxSimReranker(compass).score(["right", "up"], [["left", "between"]] * 2, [[0.0] * 2] * 2)
    assert sorted(compass.asked) == sorted(["left", "between"] + ["right", "up"] * 2)


def test_stored_vectors_give_the_scores_of_encoding(compass: Compass) -> None:
    drawn = np.random.default_rng(0).normal(size=(9, 40, 384)).astype(np.float32)
    vectors = [unit_rows(matrix[: 5 * number]) for number, matrix in enumerate(drawn)]
    texts, encoder = [f"passage {number}" for number in range(9)], MagicMock(spec=("embed_tokens", "fingerprint"))
    encoder.embed_tokens.side_effect = lambda asked: [vectors[texts.index(text)] for text in asked]
    encoder.fingerprint.return_value = "drawn"
    reranker = MaxSimReranker(encoder, cache_mb=0)
    (encoded,) = reranker.score([texts[3]], [texts], [[0.0] * 9])
    encoder.reset_mock()
    known = passages_of(texts[:8], joined([rounded(matrix) for matrix in vectors[:8]]))
    knowing = MaxSimReranker(KnownPassages(encoder, known), cache_mb=0)
    assert knowing.score([texts[3]], [[*texts[4:], *texts[:4]]], [[0.0] * 9]) == [[*encoded[4:], *encoded[:4]]]
    assert encoder.embed_tokens.mock_calls == [call([texts[3]]), call([texts[8]])]
    exact = [(vectors[3] @ matrix.T).max(axis=1).mean() if len(matrix) else 0.0 for matrix in vectors]
    assert np.abs(np.array(exact) - encoded).max() < 0.002
    assert encoded[3] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows", lambda rows: rows.astype(np.int16)),
        ("rows", lambda rows: rows[:-1]),
        ("rows", lambda rows: rows[:, :, None]),
        ("ends", lambda ends: ends[::-1]),
        ("ends", lambda ends: ends[1:]),
        ("ends", lambda ends: ends * [-1, 1]),
        ("ends", lambda ends: ends.astype(float)),
    ],
)
def test_arrays_that_are_no_token_vectors_are_refused(
    compass: Compass, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    texts = ["right", "up right"]
    arrays = joined([rounded(matrix) for matrix in compass.embed_tokens(texts)])
    assert [*passages_of(texts, arrays)] == texts
    with pytest.raises(DataError, match="not those of 2 passages"):
        passages_of(texts, {**arrays, name: change(arrays[name])})


def test_the_least_recently_used_goes_first() -> None:
    kept, computed = Recent[str](3, len), list[str]()

    def compute(texts: list[str]) -> list[str]:
        computed.extend(texts)
        return texts

    for texts in (["a", "b", "c"], ["a"], ["d"], ["a", "c", "d"], ["too big"], ["b"], ["b", "b"]):
        assert kept(texts, compute) == texts
    assert computed == ["a", "b", "c", "d", "too big", "b"]
