"""The objects of a config around indexes that were built before."""

from collections.abc import Mapping
from typing import Any

from rag.build import Components
from rag.corpus import Corpus
from rag.pipeline import Pipeline
from rag.store import Entry


def open_pipeline(
    nodes: Mapping[str, Any], values: Mapping[str, Any], corpus: Corpus, indexes: Mapping[str, Entry], components: Components
) -> Pipeline:
    """The objects of a config around opened indexes."""
    built = {name: components.build(node, f"index.{name}") for name, node in nodes["indexes"].items()}
    roles = ("memory", "embedder", "fusion", "reranker", "selector", "prompt", "generator")
    return Pipeline(
        corpus,
        {name: index.open(indexes[name].arrays) for name, index in built.items()},
        {name: index.uses_vectors for name, index in built.items()},
        **{role: components.build(nodes[role], role) for role in roles},
        **{name: values[name] for name in ("depth", "rerank_depth", "k")},
    )
