"""Make a corpus of a folder: manifest, coverage, and proposals of rules."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import Ingestion, ingest
from rag.documents.watch import changes
from rag.execution.sweep.open_config import config_of


def config_of_folder(what: Sequence[str]) -> dict[str, Any]:
    """The config of overrides; the first one may be a folder of documents or the name of a dataset instead."""
    first, *others = what or ("",)
    if not first or "=" in first or first.startswith("~"):
        return config_of(what)
    from rag.config.compose import written

    named = (
        [f"dataset={first}"]
        if "/" not in first and not Path(first).is_dir()
        else ["loader=folder", written("loader.path", first)]
    )
    return config_of([*named, *others])


def watched(config: Mapping[str, Any], dry_run: bool = False, watch: bool = False) -> Iterator[Ingestion]:
    """Ingest a folder, and with `watch` again after each change of its files."""
    if not watch:
        yield ingest(config, dry_run)
        return
    for _ in changes(Path(config["loader"]["path"])):
        yield ingest(config, dry_run)
