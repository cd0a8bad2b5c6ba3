"""Measure a retriever of LangChain: python langchain_retriever.py DOCUMENTS QUESTIONS."""

import sys
from pathlib import Path

from langchain_community.retrievers import BM25Retriever
from langchain_core.documents import Document

import rag

folder, questions = map(Path, sys.argv[1:3])
parts = [
    Document(part, metadata={"source": path.relative_to(folder).as_posix()})
    for path in sorted(folder.rglob("*.*"))
    for part in path.read_text("utf-8").split("\n\n")
]
retriever = BM25Retriever.from_documents(parts, k=10)

result = rag.evaluate(retriever.invoke, documents=folder, questions=questions, name="langchain")
print({name: row[name] for row in result.leaderboard for name in ("recall@5", "recall@5_low", "recall@5_high")})
