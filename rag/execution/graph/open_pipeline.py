"""The objects of a config around indexes that were built before."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from rag.config.build import Components
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, DataError
from rag.core.records import Document
from rag.core.roles import Framing, Index, Inspection, Screen, Searcher, changes_nothing
from rag.execution.store.store import Entry
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.prompt_assembly import Reading

SINGLE = ("queries", "embedder", "fusion", "reranker", "generator")


def layers(config: Mapping[str, Any], components: Components) -> dict[str, dict[str, Any]]:
    """The checks and guards of a config by what they do: `screens`, `framings`, `inspections`; one may do several."""
    chosen = {f"{group}.{name}": node for group in ("check", "guard") for name, node in (config.get(group) or {}).items()}
    built = {name: components.role(name.partition(".")[0], node, name) for name, node in chosen.items()}
    kinds = {"screens": Screen, "framings": Framing, "inspections": Inspection}
    return {kind: {name: chosen[name] for name in chosen if isinstance(built[name], fits)} for kind, fits in kinds.items()}


def selectors_of(config: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """The selectors of a config that change something, by name in their order; ConfigError for one that is none."""
    built = {name: components.role("selector", node, f"selector.{name}") for name, node in config["selector"].items()}
    return {name: config["selector"][name] for name, selector in built.items() if not changes_nothing(selector)}


def several(nodes: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """Components by name."""
    return {name: components.build(node, name) for name, node in nodes.items()}


def reading_of(
    nodes: Mapping[str, Any], values: Mapping[str, Any], documents: Sequence[Document], components: Components
) -> Reading:
    """What lays out passages; ConfigError for a pinned document that is not there."""
    return Reading(
        components.build(nodes["prompt"], "prompt"),
        components.build(nodes["memory"], "memory"),
        values["k"],
        values["context_tokens"],
        several(nodes["screens"], components),
        several(nodes["framings"], components),
        pinned(values["pinned"], documents),
    )


def pinned(names: Sequence[str], documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents that go into a prompt whole; ConfigError for one that is not there."""
    by_name = {document.doc_id: document for document in documents} if names else {}
    for name in names:
        if name not in by_name:
            # All the names there are could be thousands.
            known = get_close_matches(name, by_name, n=5, cutoff=0.3) or list(by_name)[:5]
            raise ConfigError("pinned", f"there is no document {name!r}", f"a doc_id, for example {', '.join(known)}")
    return tuple(by_name[name] for name in names)


def open_pipeline(
    nodes: Mapping[str, Any], values: Mapping[str, Any], corpus: Corpus, indexes: Mapping[str, Entry], components: Components
) -> Pipeline:
    """The objects of a config around opened indexes; DataError for an index of another corpus."""
    built = {name: components.build(node, f"index.{name}") for name, node in nodes["indexes"].items()}
    return Pipeline(
        corpus,
        {name: _opened(name, index, indexes[name], corpus) for name, index in built.items()},
        {name: index.uses_vectors for name, index in built.items()},
        reading=reading_of(nodes, values, corpus.documents, components),
        inspections=several(nodes["inspections"], components),
        selectors=several(nodes["selectors"], components),
        **{role: (components.handed if role == "generator" else components.build)(nodes[role], role) for role in SINGLE},
        **{name: values[name] for name in ("depth", "rerank_depth")},
    )


def _opened(name: str, index: Index, built: Entry, corpus: Corpus) -> Searcher:
    searcher = index.open(built.arrays)
    # An index of a plugin need not know its size.
    size = getattr(searcher, "size", len(corpus))
    if size != len(corpus):
        what = f"is an index of {size} chunks, and the corpus has {len(corpus)}"
        raise DataError(f"index.{name}", what, "build the index again, or export the bundle again")
    return searcher
