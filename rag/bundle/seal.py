"""A trial → a bundle."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rag.answering import Materials, materials
from rag.bundle.manifest import MANIFEST, SEAL, Listed, Manifest
from rag.entries import Entry, encode
from rag.identity import without_runtime
from rag.records import Arrays

KEPT = (
    "chunker", "embedder", "index", "fusion", "reranker", "selector", "queries", "memory", "guard", "prompt", "generator",
    "check", "k", "depth", "rerank_depth", "context_tokens", "pinned",
)  # fmt: skip


def seal(config: Mapping[str, Any], target: Path) -> str:
    """Write a bundle of a config into a folder that is not there yet; its hash."""
    found = materials(config)
    files = dict(_files(config, found))
    target.mkdir(parents=True)
    for name, data in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    listed = {name: Listed(hashlib.sha256(data).hexdigest(), len(data)) for name, data in files.items()}
    golden = found.golden
    written = Manifest("", "", "", golden.golden_digest, golden.corpus_digest, "", {}, {}, (), {}, listed).to_bytes()
    (target / MANIFEST).write_bytes(written)
    known = hashlib.sha256(written).hexdigest()
    (target / SEAL).write_text(f"{known}  {MANIFEST}\n", "utf-8")
    return known


def _files(config: Mapping[str, Any], found: Materials) -> dict[str, bytes]:
    kept = without_runtime({name: config[name] for name in KEPT})
    documents = ({"doc_id": d.doc_id, "text": d.text, "metadata": dict(d.metadata)} for d in found.corpus.documents)
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in documents)
    chunks: Arrays = {"doc": found.corpus.doc, "start": found.corpus.start, "end": found.corpus.end}
    return {
        "config.yaml": yaml.safe_dump(kept, sort_keys=False, allow_unicode=True).encode(),
        "documents.jsonl": lines.encode(),
        "chunks.entry": encode(Entry(chunks)),
    } | {f"indexes/{name}.entry": encode(entry) for name, entry in found.indexes.items()}
