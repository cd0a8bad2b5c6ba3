"""The laws of rerankers, for every choice in conf/reranker; `rag.testing` has those that hold for any plug-in."""

from collections.abc import Iterator

import pytest
from support.choices import choices, node
from support.rerank_server import MODEL, rerank_server

from rag.config.build import Components
from rag.core.roles import Reranker, changes_nothing
from rag.testing import check_reranker

QUERIES = ["How many days of leave do I have?", "", "leave days"]
PASSAGES = [
    ["Annual leave is 25 days.", "", "The boiler is old.", "Annual leave is 25 days.", "leave \ud800 days " * 300],
    [],
    ["days", "leave", "?"],
]
SCORES = [[0.9, 0.8, 0.7, 0.6, 0.5], [], [3.0, 2.0, 1.0]]


@pytest.fixture(scope="module", params=choices("reranker"))
def reranker(request: pytest.FixtureRequest) -> Iterator[Reranker]:
    """The choice as its file has it, with small models and a server on this machine."""
    values = node("reranker", request.param)
    hashing = {"_target_": "rag.components.embedders.hashing.HashingEmbedder"}
    values |= {name: hashing for name, value in values.items() if value == "${embedder}"}
    if request.param == "cross_encoder":
        values |= {"model": str(request.getfixturevalue("tiny_cross_encoder")), "revision": None, "max_length": 64}
    if request.param == "maxsim":
        values["encoder"]["runtime"] |= {"threads": 1}
    with rerank_server(values.get("runtime", {}).get("batch_size", 1)) as server:
        values |= {"base_url": server.url, "model": MODEL} if "base_url" in values else {}
        built = Components().role("reranker", values)
        assert isinstance(built, Reranker)
        yield built


def test_laws(reranker: Reranker) -> None:
    check_reranker(reranker)


def test_broken_characters_and_empty_batches(reranker: Reranker) -> None:
    scores = reranker.score(QUERIES, PASSAGES, SCORES)
    assert [len(row) for row in scores] == [5, 0, 3]
    assert reranker.score(QUERIES[::-1], PASSAGES[::-1], SCORES[::-1]) == scores[::-1]
    assert reranker.score([], [], []) == []


def test_a_reranker_whose_scores_depend_on_the_pair_alone_says_so(reranker: Reranker) -> None:
    scores = reranker.score(QUERIES, PASSAGES, SCORES)
    alone = [
        [reranker.score([query], [[text]], [[0.0]])[0][0] for text in texts]
        for query, texts in zip(QUERIES, PASSAGES, strict=True)
    ]
    assert (alone == scores) == (reranker.pairwise and not changes_nothing(reranker)), "else it could be stored by pair"
