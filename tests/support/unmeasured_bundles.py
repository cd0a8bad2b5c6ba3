"""Bundles of configs that no sweep measured, without golden questions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag.bundle.seal import pipeline_content, written
from rag.execution.sweep.open_config import materials


def seal(config: Mapping[str, Any], target: Path) -> str:
    """Write a bundle to a new folder, and return its hash."""
    found = materials(config)
    content = pipeline_content(config, found, with_models=False)
    known = replace(content.manifest, golden=found.golden.golden_digest, corpus=found.golden.corpus_digest)
    return written(replace(content, manifest=known), target).digest
