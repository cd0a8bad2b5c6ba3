"""Parameters that make no sense are refused when a component is built, with the key in the error."""

import math
from typing import Any

import pytest

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
from rag.components.rerankers.maxsim import MaxSimReranker
from rag.core.errors import ConfigError

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
    (WindowsEmbedder, {"embedder": MINILM, "scale": 2}, "embedder.scale", "a cosine, or null"),
    (OpenAiEmbedder, {"model": "m", "dimensions": 0}, "embedder.dimensions", ""),
    *[(OpenAiEmbedder, {"model": "m", "batch_size": value}, "embedder.runtime.batch_size", "to 2048") for value in (0, 2049)],
    (OpenAiEmbedder, {"model": "m", "retries": -1}, "embedder.runtime.retries", ""),
    *[(OpenAiEmbedder, {"model": "m", "timeout": value}, "embedder.runtime.timeout", "seconds above 0") for value in (0, NAN)],
    (WordAnalyser, {"shortest": 0}, "analyser.shortest", "at least 1"),
    (WordAnalyser, {"stemmer": "englisch"}, "analyser.stemmer", "'english'"),
    (WordAnalyser, {"stopwords": "englisch_plus"}, "analyser.stopwords", "'english'"),
    (MaxSimReranker, {"encoder": HASHING}, "reranker.encoder", "an embedder with embed_tokens"),
    (MaxSimReranker, {"encoder": MINILM, "cache_mb": -1}, "reranker.runtime.cache_mb", "0 for no cache"),
]


@pytest.mark.parametrize(("component", "parameters", "where", "remedy"), REFUSED)
def test_parameters_are_refused(component: type, parameters: dict[str, Any], where: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        component(**parameters)
    assert caught.value.where == where
    assert remedy in caught.value.remedy
