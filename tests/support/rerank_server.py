"""A real HTTP server that speaks `/rerank` of text-embeddings-inference, and of Jina, Cohere and vLLM.

The forms are those of https://huggingface.github.io/text-embeddings-inference (RerankRequest, Rank, Info, ErrorResponse) and of
https://docs.cohere.com/reference/rerank. A score is the share of words that question and passage have in common.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.scripted_server import Exchange, Script, Step, error, send, serving

MODEL = "BAAI/bge-reranker-base"


def common(query: str, text: str) -> float:
    """The score of a pair."""
    one, two = set(query.lower().split()), set(text.lower().split())
    return len(one & two) / max(len(one | two), 1)


def ranked(spoil: Callable[[list[dict[str, Any]]], Any] = lambda rows: rows, most: int = 4) -> Step:
    """The rows of the passages, best first, after `spoil`; `most` is the limit of passages, as TEI has one."""

    def step(exchange: Exchange) -> None:
        body, tei = exchange.asked, "texts" in exchange.asked
        texts = body["texts" if tei else "documents"]
        if exchange.path != "/v1/rerank":
            return error(404)(exchange)
        if len(texts) > most:
            what = f"batch size {len(texts)} > maximum allowed batch size {most}"
            return send(413, {"error": what, "error_type": "Validation"})(exchange)
        name = "score" if tei else "relevance_score"
        rows = [{"index": place, name: common(body["query"], text)} for place, text in enumerate(texts)]
        rows = spoil(sorted(rows, key=lambda row: -row[name]))
        send(200, rows if tei else {"id": "1", "results": rows})(exchange)

    return step


@contextmanager
def rerank_server(most: int = 4) -> Iterator[Script]:
    """A server until the block ends."""
    with serving(ranked(most=most)) as script:
        script.info = {"model_id": MODEL, "model_sha": "2cfc18c9", "max_client_batch_size": most}
        yield script
