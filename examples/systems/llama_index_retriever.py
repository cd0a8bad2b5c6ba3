"""Measure a retriever of LlamaIndex: python llama_index_retriever.py DOCUMENTS QUESTIONS."""

import sys
from pathlib import Path

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import rag

folder, questions = map(Path, sys.argv[1:3])
nodes = [
    TextNode(text=part, metadata={"source": path.relative_to(folder).as_posix()})
    for path in sorted(folder.rglob("*.*"))
    for part in path.read_text("utf-8").split("\n\n")
]


class SharedWords(BaseRetriever):
    """Ranks by the number of words that a node has of the question; any retriever of LlamaIndex may be in its place."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        words = set(query_bundle.query_str.lower().split())
        found = [NodeWithScore(node=node, score=len(words & set(node.text.lower().split()))) for node in nodes]
        return sorted(found, key=lambda each: -each.score)[:10]


result = rag.evaluate(SharedWords().retrieve, documents=folder, questions=questions, name="llama_index")
print({name: row[name] for row in result.leaderboard for name in ("recall@5", "recall@5_low", "recall@5_high")})
