"""Rerankers behind HTTP, against a real server that speaks both interfaces."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from support.rerank_server import MODEL, common, ranked, rerank_server
from support.scripted_server import Script, broken, send, too_many, wrong_key

from rag.components.rerankers.server import ServerReranker
from rag.core.errors import ServiceError

QUERY, TEXTS = "annual leave days", ["sick pay", "annual leave is 25 days", "leave", "days of annual leave", "", "boiler"]
BOTH = pytest.mark.parametrize("form", ["tei", "jina"])


@pytest.fixture
def server() -> Iterator[Script]:
    with rerank_server() as running:
        yield running


def reranker(server: Script, form: str, **changes: Any) -> ServerReranker:
    return ServerReranker(**({"model": MODEL, "base_url": server.url, "form": form, "batch_size": 4} | changes))


def failure(made: ServerReranker) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        made.score([QUERY], [TEXTS[:2]], [[0.0, 0.0]])
    return caught.value


@BOTH
def test_scores_are_those_of_the_server_in_the_order_of_the_passages(server: Script, form: str) -> None:
    found = reranker(server, form).score([QUERY, "x", "boiler"], [TEXTS, [], TEXTS[-1:]], [[0.0] * 6, [], [0.0]])
    assert found == [[common(QUERY, text) for text in TEXTS], [], [1.0]]
    assert [len(body.get("texts", body.get("documents"))) for body in server.asked].count(4) == 1


def test_what_is_sent(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK_KEY", "sk-rank-4711")
    reranker(server, "tei", extra={"truncate": True}).score(["q\ud800"], [["a", ""]], [[0.0, 0.0]])
    reranker(server, "jina", api_key_env="RANK_KEY").score(["q"], [["a", "b"]], [[0.0, 0.0]])
    tei, jina = server.asked
    assert tei == {"query": "q?", "texts": ["a", " "], "truncate": True}
    assert jina == {"model": MODEL, "query": "q", "documents": ["a", "b"], "top_n": 2}
    assert server.keys[1] == "Bearer sk-rank-4711"


def test_tei_says_what_it_serves(server: Script) -> None:
    assert "serves model 'BAAI/bge-reranker-base', not 'other'" in failure(reranker(server, "tei", model="other")).what
    assert "serves revision '2cfc18c9', not 'abc'" in failure(reranker(server, "tei", revision="abc")).what
    assert server.asked == []
    assert reranker(server, "tei", revision="2cfc18c9").score([QUERY], [["leave"]], [[0.0]]) == [[1 / 3]]


def test_a_batch_is_as_small_as_tei_wants_it(server: Script) -> None:
    assert len(reranker(server, "tei", batch_size=32).score([QUERY], [TEXTS], [[0.0] * 6])[0]) == 6
    with pytest.raises(ServiceError) as caught:
        reranker(server, "jina", batch_size=32).score([QUERY], [TEXTS], [[0.0] * 6])
    assert "batch size 6 > maximum allowed batch size 4" in caught.value.what
    assert "batch_size" in caught.value.remedy


@BOTH
def test_a_busy_server_is_asked_again(server: Script, form: str) -> None:
    server.steps[:0] = [too_many(), broken()]
    assert reranker(server, form).score([QUERY], [["leave"]], [[0.0]]) == [[1 / 3]]
    assert len(server.asked) == 3
    server.steps[:0] = [too_many()] * 2
    assert "Rate limit reached" in failure(reranker(server, form, retries=1)).what


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda rows: rows[:1],
        lambda rows: [*rows, rows[0]],
        lambda rows: [rows[0], rows[0]],
        lambda rows: [{"index": row["index"], "score": math.nan, "relevance_score": math.nan} for row in rows],
        lambda rows: [{"index": row["index"]} for row in rows],
        lambda rows: None,
    ],
)
@BOTH
def test_a_reply_without_one_number_per_passage_is_no_result(server: Script, form: str, spoilt: Any) -> None:
    server.steps[:0] = [ranked(spoilt)]
    assert "check reranker.form" in failure(reranker(server, form)).remedy


def test_a_wrong_form_bytes_and_a_wrong_key(server: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK_KEY", "sk-rank-4711")
    server.steps[:0] = [send(200, b"<html>"), wrong_key()]
    assert failure(reranker(server, "jina"))
    wrong = failure(reranker(server, "jina", api_key_env="RANK_KEY"))
    assert "sk-rank-4711" not in str(wrong)
    assert "key" in wrong.remedy
    assert "RANK_NONE is not set" in failure(ServerReranker(MODEL, "https://models.invalid", api_key_env="RANK_NONE")).what
