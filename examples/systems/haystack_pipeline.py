"""Measure a pipeline of Haystack: HAYSTACK_TELEMETRY_ENABLED=False python haystack_pipeline.py DOCUMENTS QUESTIONS."""

import sys
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import rag

folder, questions = map(Path, sys.argv[1:3])
store = InMemoryDocumentStore()
for path in sorted(folder.rglob("*.*")):
    meta = {"source": path.relative_to(folder).as_posix()}
    store.write_documents([Document(content=part, meta=meta) for part in path.read_text("utf-8").split("\n\n")])
pipeline = Pipeline()
pipeline.add_component("search", InMemoryBM25Retriever(store, top_k=10))


def retrieve(question: str) -> list[Document]:
    """The passages of a question, best first."""
    return pipeline.run({"search": {"query": question}})["search"]["documents"]


result = rag.evaluate(retrieve, documents=folder, questions=questions, name="haystack")
print({name: row[name] for row in result.leaderboard for name in ("recall@5", "recall@5_low", "recall@5_high")})
