"""Parameters that make no sense are refused when a component is built, with the key in the error."""

import math
from typing import Any

import pytest
from support.corpora import text_folder

from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.fixed import FixedChunker
from rag.components.chunkers.markdown import MarkdownChunker
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.chunkers.sentence import SentenceChunker
from rag.components.chunkers.token import TokenChunker
from rag.components.embedders.hashing import HashingEmbedder
from rag.components.embedders.minilm import MiniLmEmbedder
from rag.components.embedders.openai import OpenAiEmbedder
from rag.components.embedders.static import StaticEmbedder
from rag.components.embedders.windows import WindowsEmbedder
from rag.components.fusion.rrf import ReciprocalRankFusion
from rag.components.fusion.weighted import WeightedFusion
from rag.components.indexes.bm25 import Bm25Index
from rag.components.indexes.bm25s import Bm25sIndex
from rag.components.rerankers.maxsim import MaxSimReranker
from rag.components.rerankers.mmr import MmrReranker
from rag.components.selectors.mmr import MmrSelector
from rag.components.selectors.neighbours import NeighboursSelector
from rag.components.selectors.parents import ParentsSelector
from rag.components.selectors.score_floor import ScoreFloorSelector
from rag.components.selectors.window import WindowSelector
from rag.core.errors import ConfigError
from rag.plugins.approximate.indexes.faiss_hnsw import FaissHnswIndex
from rag.plugins.approximate.indexes.faiss_ivf import FaissIvfIndex
from rag.plugins.attack_sets.loaders.poisoned import AttackCorpus
from rag.plugins.stores.indexes.chroma import ChromaIndex
from rag.plugins.stores.indexes.pgvector import PgvectorIndex
from rag.plugins.stores.indexes.qdrant import QdrantIndex

HASHING = HashingEmbedder()
MINILM = MiniLmEmbedder()
NAN, INFINITY = math.nan, math.inf

REFUSED: list[tuple[type, dict[str, Any], str, str]] = [
    *[(FixedChunker, {"size": size}, "chunker.size", "at least 1") for size in (0, -1, 2.5, True, "800")],
    *[(FixedChunker, {"size": 10, "overlap": overlap}, "chunker.overlap", "to 9; less than") for overlap in (-1, 10, None)],
    (RecursiveChunker, {"size": 0}, "chunker.size", ""),
    (RecursiveChunker, {"size": 5, "overlap": 5}, "chunker.overlap", "less than size=5"),
    *[(RecursiveChunker, {"separators": value}, "chunker.separators", "") for value in ("\n", ["\n", 3], ["", "\n"], None)],
    *[(MarkdownChunker, {"kept": value}, "chunker.kept", "") for value in ("code", ["heading"], None)],
    *[(MarkdownChunker, {name: -1}, f"chunker.{name}", "") for name in ("size", "overlap", "whole", "rows")],
    *[(SentenceChunker, {"sentences": value}, "chunker.sentences", "") for value in (0, 1.0)],
    *[(SentenceChunker, {"sentences": 2, "step": step}, "chunker.step", "leave out text") for step in (0, 3)],
    *[(TokenChunker, {"embedder": HASHING, "target": value}, "chunker.target", "") for value in (0, "20")],
    *[(TokenChunker, {"embedder": HASHING, "target": 20, "max": value}, "chunker.max", "target=20") for value in (0, 19)],
    *[(TokenChunker, {"embedder": HASHING, "target": 20, "overlap": value}, "chunker.overlap", "") for value in (-1, 20)],
    (TokenChunker, {"embedder": object()}, "chunker.embedder", "an embedder with a tokenizer"),
    *[(HashingEmbedder, {"dimensions": value}, "embedder.dimensions", "from 2") for value in (1, "9")],
    *[(HashingEmbedder, {"ngrams": value}, "embedder.ngrams", "from 1 to 8") for value in (0, 9)],
    *[(MiniLmEmbedder, {"threads": value}, "embedder.runtime.threads", "") for value in (0, 1.5)],
    (StaticEmbedder, {"dimensions": 385}, "embedder.dimensions", "to 384"),
    (StaticEmbedder, {"sif": 0}, "embedder.sif", "between 0 and 1"),
    (WindowsEmbedder, {"embedder": MINILM, "tokens": 0}, "embedder.tokens", ""),
    (OpenAiEmbedder, {"model": "m", "dimensions": 0}, "embedder.dimensions", ""),
    *[(OpenAiEmbedder, {"model": "m", "batch_size": value}, "embedder.runtime.batch_size", "to 2048") for value in (0, 2049)],
    (OpenAiEmbedder, {"model": "m", "retries": -1}, "embedder.runtime.retries", ""),
    *[(OpenAiEmbedder, {"model": "m", "timeout": value}, "embedder.runtime.timeout", "seconds above 0") for value in (0, NAN)],
    *[(Bm25Index, {"analyser": WordAnalyser(), "k1": value}, "index.bm25.k1", "0.9 to 2 is usual") for value in (-1, NAN)],
    *[(Bm25Index, {"analyser": WordAnalyser(), "b": value}, "index.bm25.b", "from 0 to 1") for value in (1.1, -0.1)],
    (Bm25Index, {"analyser": WordAnalyser(), "epsilon": -1}, "index.bm25.epsilon", "0.25 is usual"),
    (WordAnalyser, {"shortest": 0}, "analyser.shortest", "at least 1"),
    (Bm25sIndex, {"analyser": WordAnalyser(), "k1": -0.1}, "index.bm25s.k1", "at least 0"),
    (Bm25sIndex, {"analyser": WordAnalyser(), "b": 2}, "index.bm25s.b", "0 ignores the length"),
    (Bm25sIndex, {"analyser": WordAnalyser(), "method": "lucen"}, "index.bm25s.method", "'lucene'"),
    (WordAnalyser, {"stemmer": "englisch"}, "analyser.stemmer", "'english'"),
    (WordAnalyser, {"stopwords": "englisch_plus"}, "analyser.stopwords", "'english'"),
    (Bm25sIndex, {"analyser": WordAnalyser(), "delta": -1}, "index.bm25s.delta", "at least 0"),
    (FaissHnswIndex, {"m": 1}, "index.faiss_hnsw.m", "from 2"),
    (FaissHnswIndex, {"ef_construction": 0}, "index.faiss_hnsw.ef_construction", ""),
    (FaissHnswIndex, {"ef_search": 0}, "index.faiss_hnsw.ef_search", ""),
    (PgvectorIndex, {"method": "flat"}, "index.pgvector.method", "exact, hnsw"),
    (PgvectorIndex, {"m": 101}, "index.pgvector.m", "to 100"),
    (PgvectorIndex, {"m": 16, "ef_construction": 31}, "index.pgvector.ef_construction", "at least 2 m"),
    (PgvectorIndex, {"ef_search": 1001}, "index.pgvector.ef_search", "to 1000"),
    (PgvectorIndex, {"timeout": 0}, "index.pgvector.runtime.timeout", "seconds"),
    (PgvectorIndex, {"build_mb": 0}, "index.pgvector.runtime.build_mb", "megabytes"),
    (ChromaIndex, {"ef_search": 0}, "index.chroma.ef_search", "usual"),
    (QdrantIndex, {"timeout": 0}, "index.qdrant.runtime.timeout", "seconds"),
    (FaissIvfIndex, {"lists": 0}, "index.faiss_ivf.lists", "null takes the square root"),
    (FaissIvfIndex, {"probes": 0}, "index.faiss_ivf.probes", ""),
    *[(ReciprocalRankFusion, {"k": value}, "fusion.k", "60 is usual") for value in (-1, NAN)],
    *[
        (ReciprocalRankFusion, {"weights": value}, "fusion.weights", "at least one above 0")
        for value in ([1, -1], [0, 0], [], [1, NAN])
    ],
    (WeightedFusion, {"weights": [0.5, 0.6]}, "fusion.weights", "sum to 1"),
    *[(WeightedFusion, {"weights": value}, "fusion.weights", "at least one") for value in ([1.5, -0.5], [], [INFINITY, 0])],
    (WeightedFusion, {"normalisation": "minmax"}, "fusion.normalisation", "'min_max'"),
    (MaxSimReranker, {"encoder": HASHING}, "reranker.encoder", "an embedder with embed_tokens"),
    (MaxSimReranker, {"encoder": MINILM, "cache_mb": -1}, "reranker.runtime.cache_mb", "0 for no cache"),
    *[
        (MmrReranker, {"embedder": HASHING, "relevance_weight": value}, "reranker.relevance_weight", "from 0 to 1")
        for value in (-0.1, 1.1, NAN)
    ],
    *[(NeighboursSelector, {"before": value}, "selector.neighbours.before", "to 1000") for value in (-1, 1.5, True, "1")],
    (NeighboursSelector, {"after": 1001}, "selector.neighbours.after", "to 1000"),
    *[(ParentsSelector, {"size": value}, "selector.parents.size", "to 100000") for value in (0, 100_001, 1.5, True, None)],
    *[(WindowSelector, {"sentences": value}, "selector.window.sentences", "to 1000") for value in (0, 1001, "3")],
    *[
        (MmrSelector, {"embedder": None, "relevance_weight": weight}, "selector.mmr.relevance_weight", "from 0 to 1")
        for weight in (-0.1, 1.1, "1")
    ],
    (MmrSelector, {"embedder": None, "depth": 0}, "selector.mmr.depth", "at least 1"),
    *[
        (ScoreFloorSelector, {"floor": floor}, "selector.score_floor.floor", "a number")
        for floor in (NAN, INFINITY, "high", None)
    ],
    *[
        (ScoreFloorSelector, {"floor": floor, "relative": True}, "selector.score_floor.floor", "a share of the best score")
        for floor in (1.5, -0.1)
    ],
    (ScoreFloorSelector, {"floor": 0.1, "relative": "yes"}, "selector.score_floor.relative", "true or false"),
    *[
        (AttackCorpus, {"path": "x", "bipia": None, "rounds": value}, "dataset.rounds", "at least 1")
        for value in (0, True, "2")
    ],
    *[
        (text_folder, {"path": "x", "patterns": value}, "loader.patterns", "**/*.md")
        for value in ([], "*.md", ["/etc/*"], ["../*"], [""])
    ],
]


@pytest.mark.parametrize(("component", "parameters", "where", "remedy"), REFUSED)
def test_parameters_are_refused(component: type, parameters: dict[str, Any], where: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        component(**parameters)
    assert caught.value.where == where
    assert remedy in caught.value.remedy
