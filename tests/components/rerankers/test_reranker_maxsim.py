"""Late interaction on token vectors made by hand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from rag.components.rerankers.maxsim import Matrices, MaxSimReranker, late_interaction

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
    assert found == pytest.approx([(1 + 0) / 2, 1, (0.6 + 0.8) / 2, (-1 + 0) / 2, (0.6 + 0.8) / 2, 0])


def test_without_tokens_every_score_is_zero(compass: Compass) -> None:
    assert MaxSimReranker(compass).score([""], [["right", ""]], [[0.0, 0.0]]) == [[0.0, 0.0]]
    none, some = np.zeros((0, 2), np.float32), np.ones((1, 2), np.float32)
    assert late_interaction(none, some) == late_interaction(some, none) == 0.0


def test_word_order_and_length_of_the_query_do_not_matter(compass: Compass) -> None:
    reranker = MaxSimReranker(compass)
    (once,), (twice,) = reranker.score(["right up", "up right right up"], [["between"]] * 2, [[0.0]] * 2)
    assert once == pytest.approx(twice)


def test_a_passage_is_encoded_once_while_it_is_remembered(compass: Compass) -> None:
    for _ in range(2):
        MaxSimReranker(compass).score(["right", "up"], [["left", "between"]] * 2, [[0.0] * 2] * 2)
    assert sorted(compass.asked) == sorted(["left", "between"] + ["right", "up"] * 2)


def test_without_memory_every_passage_is_encoded(compass: Compass) -> None:
    MaxSimReranker(compass, cache_mb=0).score(["right", "up"], [["left"]] * 2, [[0.0]] * 2)
    assert compass.asked.count("left") == 2


def test_the_least_recently_used_goes_first() -> None:
    kept = Matrices(limit=3 * 8)
    one = np.ones((1, 2), np.float32)
    for text in ("a", "b", "c"):
        kept.put(text, one)
    assert kept.get("a") is one
    kept.put("d", one)
    assert [text for text in "abcd" if kept.get(text) is not None] == ["a", "c", "d"]
    assert (kept.size, len(kept)) == (24, 3)
    kept.put("e", np.ones((2, 2), np.float32))
    assert (kept.size, len(kept)) == (24, 2)
    kept.put("too big", np.ones((4, 2), np.float32))
    kept.put("e", one)
    assert kept.get("too big") is None
    assert (kept.size, len(kept)) == (24, 2)


def test_finds_the_passage_that_answers() -> None:
    from rag.components.embedders.minilm import MiniLmEmbedder

    passages = ["The boiler is serviced in October.", "Staff get 25 days of holiday a year.", ""]
    (found,) = MaxSimReranker(MiniLmEmbedder(threads=1)).score(["How many days off do I get?"], [passages], [[0.0] * 3])
    assert found[1] > found[0] > found[2] == 0.0
