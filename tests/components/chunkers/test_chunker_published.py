"""Chunks retrieve what others have published for the same windows: chroma-a, BM25, five chunks a question.

Needs the data sets: RAG_DATA, or `shared/data` next to the repository.
"""

import csv
import json
import os
from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer

from rag.components.chunkers.fixed import FixedChunker
from rag.components.chunkers.recursive import RecursiveChunker
from rag.core.corpus import Corpus
from rag.core.roles import Chunker
from rag.core.types import Document

DATA = Path(os.environ.get("RAG_DATA", Path(__file__).parents[4] / "shared" / "data")) / "chroma-a"
NAMES = ("chatlogs", "state_of_the_union", "wikitexts")
Gold = list[tuple[str, int, list[tuple[int, int]]]]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}: set RAG_DATA to the folder of data sets")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [Document(name, (DATA / "corpora" / f"{name}.md").read_bytes().decode()) for name in NAMES]


@pytest.fixture(scope="module")
def gold() -> Gold:
    with (DATA / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    spans = [[(part["start_index"], part["end_index"]) for part in json.loads(row["references"])] for row in rows]
    return [(row["question"], NAMES.index(row["corpus_id"]), parts) for row, parts in zip(rows, spans, strict=True)]


def measured(chunker: Chunker, documents: list[Document], gold: Gold) -> tuple[float, float]:
    """Mean character recall and IoU of the best five chunks."""
    corpus = Corpus.of(documents, [span for document in documents for span in chunker.chunk(document)])
    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    words = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    index.index(bm25s.tokenize(list(corpus.texts), **words), show_progress=False)
    found, _ = index.retrieve(bm25s.tokenize([question for question, _, _ in gold], **words), k=5, show_progress=False)
    scores = []
    for positions, (_, place, spans) in zip(found, gold, strict=True):
        wanted, got = ([np.zeros(len(document.text), bool) for document in documents] for _ in range(2))
        for start, end in spans:
            wanted[place][start:end] = True
        for position in positions:
            got[corpus.doc[position]][corpus.start[position] : corpus.end[position]] = True
        both, either = (
            sum(int(way(a, b).sum()) for a, b in zip(wanted, got, strict=True)) for way in (np.logical_and, np.logical_or)
        )
        scores.append((both / wanted[place].sum(), both / either))
    recall, iou = np.mean(scores, axis=0)
    return round(float(recall), 2), round(float(iou), 3)


@pytest.mark.parametrize(
    ("chunker", "figures"),
    [
        (FixedChunker(800), (0.90, 0.057)),
        (FixedChunker(1600), (0.97, 0.032)),
        (FixedChunker(3200), (1.00, 0.017)),
        (RecursiveChunker(400), (0.77, 0.119)),
        (RecursiveChunker(800), (0.88, 0.067)),
        (RecursiveChunker(1600), (0.96, 0.037)),
    ],
    ids=lambda value: f"{type(value).__name__}-{value.size}" if hasattr(value, "size") else "",
)
def test_figures_are_those_published(
    chunker: Chunker, figures: tuple[float, float], documents: list[Document], gold: Gold
) -> None:
    assert measured(chunker, documents, gold) == figures
