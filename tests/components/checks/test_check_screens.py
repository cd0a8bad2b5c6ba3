"""The floor below which no model is asked."""

from collections.abc import Sequence

import numpy as np
import pytest

from rag.components.checks.retrieval_floor import RetrievalFloorCheck
from rag.core.records import Chunk, Hit, Query, Ranking, Span, Turn, Vectors


class Angles:
    """Texts are angles in degrees, of vectors that have other lengths than 1."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text.split("\n")[0]) for text in texts])
        return np.stack([3 * np.cos(angles), 3 * np.sin(angles)], axis=1).astype(np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_documents(texts) / 2


def found(*angles: int) -> Ranking:
    return tuple(Hit(Chunk(Span("d", 0, 1), str(angle)), 1.0) for angle in angles)


def test_the_nearest_passage_counts() -> None:
    check = RetrievalFloorCheck(Angles(), 0.5)
    queries = [Query("a", "0"), Query("b", "0"), Query("c", "0")]
    assert check.similarity(queries, [found(90, 60), found(180), ()]) == pytest.approx([0.5, -1, -1])
    floors = [[one.what for one in row] for row in check.screen(queries, [found(90, 59), found(70), ()])]
    assert floors == [[], ["the nearest passage has a cosine of 0.342, below 0.5"], ["nothing was found"]]
    assert check.similarity(queries, [(), (), ()]) == [-1, -1, -1]


def test_a_follow_up_is_tried_with_what_was_said_before() -> None:
    # The text of both turns begins with the earlier one, which is the angle that counts here.
    history = (Turn("user", "80"), Turn("assistant", "1"), Turn("user", "90"), Turn("assistant", "2"))
    check = RetrievalFloorCheck(Angles(), 0.9)
    assert check.similarity([Query("q", "0", history)], [found(90)]) == pytest.approx([1.0])


@pytest.mark.parametrize(("on_failure", "action"), [("refuse", "abstain"), ("flag", "flag")])
def test_what_follows(on_failure: str, action: str) -> None:
    ((finding,),) = RetrievalFloorCheck(Angles(), 0.5, on_failure).screen([Query("q", "0")], [found(80)])
    assert (finding.source, finding.action) == ("retrieval_floor", action)
