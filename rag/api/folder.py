"""A folder of documents read once: its files, their language, and vectors that do not take long."""

import re
import shlex
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import components_of
from rag.api.ingestion import config_of_folder
from rag.components.loaders.folder import FolderLoader
from rag.config.build import Components
from rag.config.catalog import choice
from rag.config.compose import compose, composing, resolve, written
from rag.config.experiment import load
from rag.config.identity import digest
from rag.core.errors import ConfigError, DataError
from rag.core.headings import sections
from rag.core.types import Document
from rag.documents.folder.file_tree import SkippedWarning, tally
from rag.documents.languages import language_of
from rag.evaluation.data.golden import Loaded

OWN = ("loader.copies=false", "loader.sample=4")
"""What a first look at a folder reads: each text once, and a sample of large folders."""
SECONDS_PER_MB = 25
"""Seconds of one core for a MB of text: to read it, to ask about it and to compare four trials; measured on 3 folders."""
EMBEDDERS, SECONDS, SAMPLE = ("minilm", "minilm_int8", "static"), 60.0, 32
"""Embedders, the best first; the seconds that the vectors of all trials may take; the chunks by which that is estimated."""
SIZE, SMALL = 800, 100_000
"""Characters of a chunk, and of a corpus whose vectors take less than SECONDS on any machine."""
SPLIT = "split it into smaller files, for example: split -C 1m FILE --additional-suffix=.txt"
PICTURES = ("png", "jpg", "jpeg", "gif", "tif", "tiff", "bmp", "webp", "heic", "svg")
LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch", "pt": "portuguese"}
"""Languages that are recognised, by their codes; others are read as English unless `language=` names one."""


@dataclass(frozen=True)
class Folder:
    """The documents of a folder, read once, and the overrides that fit them.

    `overrides` hold for all. Where an experiment of this name is about the folder, its config is used. ConfigError where it is
    about another folder, DataError for a folder that is not there.
    """

    folder: str
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not Path(self.folder).is_dir():
            raise DataError(self.folder, "there is no such folder", "name the folder of your documents: rag try FOLDER")

    @property
    def name(self) -> str:
        """The name of the experiment: that of the folder, in letters that a file name may have."""
        return re.sub(r"\W+", "-", Path(self.folder).resolve().name).strip("-_") or "documents"

    @property
    def path(self) -> Path:
        """The file of the experiment."""
        return Path("experiments", f"{self.name}.yaml")

    @cached_property
    def is_declared(self) -> bool:
        """Whether the experiment is there, and about this folder."""
        return self.path.exists() and written("loader.path", self.folder) in self.path.read_text("utf-8")

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The config of the folder, or that of its experiment."""
        if not self.is_declared:
            return config_of_folder([self.folder, *OWN, *self.overrides])
        with composing():
            return resolve(compose(load(str(self.path), self.overrides).fixed))

    @cached_property
    def components(self) -> Components:
        """The builder of components, whose results are in the store of the config."""
        return components_of(self.config)

    @cached_property
    def loader(self) -> FolderLoader:
        """The loader of the folder; ConfigError where the experiment has another one."""
        loader = self.components.role("loader", self.config["loader"])
        if isinstance(loader, FolderLoader):
            return loader
        raise ConfigError(str(self.path), "reads no folder of files", f"rag sweep {self.name}")

    def too_large(self) -> str:
        """A sentence on a folder that is read in part, with an estimate; empty for others. No file is read."""
        loader, found = self.loader, self.loader.selected()
        left = [line for line in found.decided if line.reason == loader.not_sampled]
        if not left:
            return ""
        kept = sum(loader.text_size(file.size, file.suffix) for file in found.to_read.values()) / 1e6
        total = kept + sum(loader.text_size(line.size, line.type) for line in left) / 1e6
        if not found.to_read:
            what = f"a first look reads {loader.sample:g} MB of text, and each of its {len(left):,} files has more"
            raise DataError(self.folder, what, f"{SPLIT}, or read all: loader.sample=null, about {_minutes(total)}")
        files = f"{len(found.to_read):,} of {len(found.to_read) + len(left):,} files"
        return (
            f"{self.folder} is large: {files} are read, by a hash of their names, {kept:.1f} of {total:,.0f} MB of text.\n"
            f"  That takes about {_minutes(kept)}; all of them, with loader.sample=null, about {_minutes(total)}."
        )

    @cached_property
    def corpus(self) -> Loaded:
        """The folder in memory; DataError where it has no text."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedWarning)  # callers show the manifest
            try:
                return Loaded.of(self.loader)
            except DataError as error:
                what = f"holds no text that can be read. {tally(0, self.loader.skipped)}"
                listing = f"{shlex.join(['rag', 'data', 'ingest', self.folder])} lists each file"
                raise DataError(self.folder, what, f"{_help(self.loader)}; {listing}") from error

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents of the folder."""
        return self.corpus.documents

    @property
    def loaded(self) -> dict[str, Loaded]:
        """The corpus by the digest of the config of its loader, for plans and pipelines."""
        return {digest(self.config["loader"]): self.corpus}

    @cached_property
    def languages(self) -> dict[str, float]:
        """Shares of the characters by language, the largest first; one language where `overrides` or the experiment name it."""
        if self.is_declared or any(override.startswith("language=") for override in self.overrides):
            return {str(self.config["language"]): 1.0}
        sizes: dict[str, int] = {}
        for document in self.documents:
            spoken = LANGUAGES.get(language_of(document.text[:SIZE]), "english")
            sizes[spoken] = sizes.get(spoken, 0) + len(document.text)
        total = sum(sizes.values())
        return {name: size / total for name, size in sorted(sizes.items(), key=lambda pair: -pair[1])}

    @property
    def language(self) -> str:
        """The language that most of the text is written in."""
        return next(iter(self.languages))

    @property
    def headed(self) -> bool:
        """Whether a tenth of the documents or more have headings."""
        found = sum(any(section.path for section in sections(document.text)) for document in self.documents)
        return found >= len(self.documents) / 10

    def fitting(self, passes: int = 1) -> tuple[list[str], list[str]]:
        """Overrides for language and vectors, where `passes` trials embed the corpus; sentences on what takes too long."""
        own = [f"language={self.language}"] if self.language != "english" else []
        if any(override.startswith(("embedder=", "index=", "preset=", "embedder.")) for override in self.overrides):
            return own, []
        if own:
            said = f"The vectors that come along know no {self.language}: words alone."
            return [*own, "index=[bm25s]", "fusion=single"], [said]
        slow: list[str] = []
        for name in EMBEDDERS[:-1]:
            if (seconds := passes * self._embedding_seconds(name)) <= SECONDS:
                return [f"embedder={name}"], slow
            slow.append(f"Vectors of {name} would take about {seconds:,.0f} seconds, too long for a first look: not tried.")
        return [f"embedder={EMBEDDERS[-1]}"], slow

    def chosen(self) -> list[str]:
        """Overrides of a pipeline about this folder."""
        return ["loader=folder", written("loader.path", self.folder), *OWN, *self.fitting()[0], *self.overrides]

    def _embedding_seconds(self, name: str) -> float:
        """The seconds of one core for the vectors of all chunks, by SAMPLE of them; 0 for a SMALL corpus."""
        total = sum(len(document.text) for document in self.documents)
        if total <= SMALL:
            return 0.0
        chunks = [
            text
            for document in self.documents
            for at in range(0, len(document.text), SIZE)
            if (text := document.text[at : at + SIZE])
        ]
        texts = chunks[:: max(len(chunks) // SAMPLE, 1)][:SAMPLE]
        embedder = self.components.without_inner.handed(choice("embedder", name), "embedder")
        embedder.embed_documents(texts[:1])
        cpu, clock = time.process_time(), time.monotonic()
        embedder.embed_documents(texts)
        seconds = min(time.process_time() - cpu, time.monotonic() - clock)  # other programs may use this machine, too
        return seconds / sum(map(len, texts)) * total


def _minutes(size: float) -> str:
    """The time of MB of text on one core, in words."""
    return f"{max(size * SECONDS_PER_MB / 60, 1):,.0f} minutes"


def _help(loader: FolderLoader) -> str:
    """What would make files readable, by the most frequent reason."""
    details = Counter(line.detail or line.type for line in loader.manifest)
    most = details.most_common(1)[0][0] if details else ""
    if most in PICTURES:
        return "scans as PDF are read with loader.parsers.pdf=pdfium_ocr"
    return SPLIT if "larger" in most else "add files of a format in docs/datasets.md"
