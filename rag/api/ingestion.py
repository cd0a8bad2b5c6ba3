"""Make a corpus of a folder: manifest, coverage, and proposals of rules."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.advice import Advice, check_new, proposals, propose, write
from rag.analysis.ingestion.ingest import Ingestion, components_of, ingest
from rag.config.compose import choices, compose, resolve, written
from rag.core.errors import DataError, closest
from rag.documents.folder.watch import changes


def config_of_folder(what: Sequence[str]) -> dict[str, Any]:
    """The config of overrides; the first one may be a folder of documents, a file, or the name of a dataset instead."""
    return resolve(compose(overrides_of(what)))


def overrides_of(what: Sequence[str]) -> list[str]:
    """Overrides, the first of which may be a folder of documents, a file, or the name of a dataset."""
    first, *others = what or ("",)
    exists = os.path.exists(first)
    if not first or ((first.startswith("~") or "=" in first) and not exists):
        return list(what)
    if exists or "/" in first:
        return ["loader=folder", written("loader.path", first), *others]
    if first not in (known := choices("dataset")):
        raise DataError(first, "is neither a folder or file here nor a data set", closest(first, known))
    return [f"dataset={first}", *others]


def watched(config: Mapping[str, Any], dry_run: bool = False, watch: bool = False) -> Iterator[Ingestion]:
    """Ingest a folder, and with `watch` again after each change of its files."""
    if not watch:
        yield ingest(config, dry_run)
        return
    for _ in changes(Path(config["loader"]["path"])):
        yield ingest(config, dry_run)


def advise(what: Sequence[str], to: Path, model: bool = False) -> Advice:
    """Propose rules for a folder and write them to a new file; with `model` the generator of the config proposes, too.

    DataError for a file that exists, ServiceError for a generator without a valid reply.
    """
    check_new(to)
    config = config_of_folder(what)
    done = ingest(config)
    made = proposals(done)
    left_out: list[str] = []
    if model:
        left_out = propose(made, components_of(config).handed(config["generator"], "generator"))
    return write(Advice(tuple(made.found), tuple(left_out)), done, to)
