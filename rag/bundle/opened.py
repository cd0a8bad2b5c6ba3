"""A bundle → a pipeline."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rag.answering import nodes_of, values_of
from rag.build import Components
from rag.bundle.manifest import MANIFEST, Manifest, digest_of
from rag.corpus import Corpus
from rag.entries import decode
from rag.opening import open_pipeline
from rag.pipeline import Pipeline
from rag.records import Document


@dataclass(frozen=True)
class Bundle:
    """An opened bundle. `digest` is the hash by which it is known, 64 hexadecimal digits."""

    path: Path
    digest: str
    manifest: Manifest
    config: Mapping[str, Any]
    pipeline: Pipeline

    @property
    def name(self) -> str:
        """What people call it: the trial's name, and the beginning of the hash."""
        return f"{self.manifest.name or 'bundle'}-{self.digest[:12]}"


def open_bundle(path: Path) -> Bundle:
    """Open a bundle."""
    manifest = Manifest.from_json(json.loads((path / MANIFEST).read_text("utf-8")))
    config = yaml.safe_load((path / "config.yaml").read_text("utf-8"))
    if (path / "prompt.yaml").is_file():
        config["prompt"] = yaml.safe_load((path / "prompt.yaml").read_text("utf-8"))
    documents = tuple(Document(**json.loads(line)) for line in (path / "documents.jsonl").open(encoding="utf-8"))
    chunks = decode((path / "chunks.entry").read_bytes()).arrays
    corpus = Corpus(documents, chunks["doc"], chunks["start"], chunks["end"])
    indexes = {name: decode((path / f"indexes/{name}.entry").read_bytes()) for name in config["index"]}
    components = Components()
    pipeline = open_pipeline(nodes_of(config, components), values_of(config), corpus, indexes, components)
    return Bundle(path, digest_of(path), manifest, config, pipeline)
