"""A first look at a folder of documents: read it once, make questions, choose vectors that fit, declare an experiment."""

import os
import re
import shlex
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import components_of
from rag.api.generation import QUESTIONS, generate_set, write_rows
from rag.api.ingestion import config_of_folder
from rag.api.start import write_experiment
from rag.api.sweeps import SweepResult, sweep
from rag.authoring.review.drift import drifts, waits
from rag.components.loaders.folder import OTHER, FolderLoader
from rag.config.build import Components
from rag.config.catalog import choice
from rag.config.compose import compose, resolve, written
from rag.config.experiment import load
from rag.core.errors import ConfigError, DataError
from rag.core.figures import amount
from rag.core.headings import sections
from rag.documents.folder.file_tree import SkippedWarning, tally
from rag.documents.folder.json_rows import read_rows
from rag.documents.languages import language_of
from rag.evaluation.data.golden import Loaded
from rag.execution.graph.plan import held

OWN = ("loader.copies=false", "loader.sample=4")
"""What a first look at a folder reads: each text once, and a sample of large folders."""
SECONDS_PER_MB = 25
"""Seconds of one core for a MB of text: to read it, ask about it and compare four trials; measured on 5,307 text files."""
READABLE = "check permissions; split large files (split -C 1m FILE) or loader.sample=null; scans: loader.parsers.pdf=pdfium_ocr"
EMBEDDERS, SECONDS, SAMPLE = ("minilm", "minilm_int8", "static"), 60.0, 32
"""Embedders, the best first; the seconds that the vectors of all trials may take; the chunks by which that is estimated."""
SIZE, SMALL = 800, 100_000
"""Characters of a chunk, and of a corpus whose vectors take less than SECONDS on any machine."""
LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch", "pt": "portuguese"}
"""Languages that are recognised, by their codes; others are read as English unless `language=` names one."""
METRICS = "metrics=[ndcg@10,recall@5,recall@4000chars,mrr@10,iou@5,exact_match,token_f1]"


@dataclass(frozen=True)
class FirstSweep:
    """The documents of a folder, read once, the overrides that fit them, and the steps before a first sweep.

    `overrides` hold for all steps. What an earlier run wrote is used again. DataError for a folder that is not there;
    ConfigError for an experiment of its name about another folder, unless `is_asked`: then nothing is written.
    """

    folder: str
    overrides: tuple[str, ...] = ()
    is_asked: bool = False

    def __post_init__(self) -> None:
        if not os.path.isdir(self.folder):
            raise DataError(self.folder, "there is no such folder", "name the folder of your documents: rag try FOLDER")
        if os.path.islink(self.folder):
            object.__setattr__(self, "folder", os.path.realpath(self.folder))  # loaders refuse a link out of its folder
        if self.path.exists() and not self.is_declared and not self.is_asked:
            raise ConfigError(
                str(self.path),
                "is an experiment about other documents",
                shlex.join(["rag", "init", "--documents", self.folder]),
            )

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
        return self.path.exists() and written("loader.path", self.folder) in load(str(self.path)).fixed

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The config of the folder, or that of its experiment."""
        if not self.is_declared:
            return config_of_folder([self.folder, *OWN, *self.overrides])
        return resolve(compose(load(str(self.path), self.overrides).fixed))

    @cached_property
    def components(self) -> Components:
        """The builder of components, whose results are in the store of the config."""
        return components_of(self.config)

    @cached_property
    def loader(self) -> FolderLoader:
        """The loader of the folder."""
        loader: FolderLoader = self.components.role("loader", self.config["loader"])
        return loader

    def too_large(self) -> str:
        """A sentence on a folder that is read in part, with an estimate; empty for others. No file is read."""
        loader, found = self.loader, self.loader.selected()
        sizes = [(line.size, line.type) for line in found.decided if line.reason == OTHER]
        if not sizes:
            return ""
        kept = sum(loader.text_size(file.size, file.suffix) for file in found.to_read.values())
        shares = kept, kept + sum(loader.text_size(*size) for size in sizes)
        takes = [f"{size / 1e6:,.1f} MB of text, about {max(size * SECONDS_PER_MB / 6e7, 1):,.0f} min" for size in shares]
        files = f"{len(found.to_read):,} of {len(found.to_read) + len(sizes):,} files"
        return (
            f"{self.folder} is large: {files} are read, by a hash of their names ({takes[0]}). loader.sample=null: {takes[1]}."
        )

    @cached_property
    def corpus(self) -> Loaded:
        """The folder in memory; DataError where it has no text."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedWarning)  # callers show the manifest
            try:
                return Loaded.of(self.loader)
            except DataError as error:
                if not (lines := self.loader.manifest):
                    raise
                skipped = self.loader.skipped
                what = f"holds no text that can be read. {tally(len(lines) - len(skipped), skipped)}"
                listing = shlex.join(["rag", "data", "ingest", self.folder])
                remedy = "install what is named" if any("(pip install " in file.reason for file in skipped) else READABLE
                raise DataError(self.folder, what, f"{remedy}; {listing} lists each file") from error

    def held(self) -> AbstractContextManager[None]:
        """A block whose plans and pipelines do not read the folder again."""
        return held(self.config["loader"], self.corpus)

    @cached_property
    def languages(self) -> dict[str, float]:
        """Shares of the characters by language, the largest first; one language where `overrides` or the experiment name it."""
        if self.is_declared or any(override.startswith("language=") for override in self.overrides):
            return {str(self.config["language"]): 1.0}
        sizes = Counter[str]()
        for document in self.corpus.documents:
            sizes[LANGUAGES.get(language_of(document.text[:SIZE]), "english")] += len(document.text)
        return {name: size / sizes.total() for name, size in sizes.most_common()}

    def fitting(self, passes: int = 1) -> tuple[list[str], list[str]]:
        """Overrides for language and vectors, where `passes` trials embed the corpus; sentences on what takes too long."""
        language = next(iter(self.languages))
        own = [f"language={language}"] if language != "english" else []
        if any(override.startswith(("embedder=", "index=", "preset=", "embedder.")) for override in self.overrides):
            return own, []
        if own:
            return [*own, "index=[bm25s]", "fusion=single"], [f"The vectors that come along know no {language}: words alone."]
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
        total = sum(len(document.text) for document in self.corpus.documents)
        if total <= SMALL:
            return 0.0
        chunks = [each.text[at : at + SIZE] for each in self.corpus.documents for at in range(0, len(each.text), SIZE)]
        texts = chunks[:: max(len(chunks) // SAMPLE, 1)][:SAMPLE]
        embedder = self.components.without_inner.handed(choice("embedder", name), "embedder")
        embedder.embed_documents(texts[:1])
        cpu, clock = time.process_time(), time.monotonic()
        embedder.embed_documents(texts)
        seconds = min(time.process_time() - cpu, time.monotonic() - clock)  # other programs may use this machine, too
        return seconds / sum(map(len, texts)) * total

    @property
    def rows(self) -> Path:
        """The file of the questions."""
        return Path("datasets", self.name, QUESTIONS)

    def ask(self, most: int) -> tuple[list[Mapping[str, Any]], bool]:
        """The rows of the golden set, and whether they are those of an earlier run; at most `most` are made."""
        if not (kept := self.rows.exists()):
            what = [self.folder, *self.overrides, f"language={next(iter(self.languages))}"]
            generate_set(what, self.rows.parent, most, documents=self.corpus.documents)
        return [row.fields for row in read_rows(self.rows)], kept

    def set_aside(self) -> str:
        """Drop questions without a review whose evidence is gone; a sentence on that, or nothing."""
        rows = [dict(row.fields) for row in read_rows(self.rows)] if self.rows.exists() else []
        made = [row for row in rows if waits(row)]
        documents = {document.doc_id: document for document in self.corpus.documents}
        gone = {each.query_id for each in drifts(made, documents) if each.state != "there"}
        if not gone:
            return ""
        left = [row for row in rows if str(row.get("id")) not in gone]
        write_rows(self.rows, left) if left else self.rows.unlink()
        return f"{amount(len(gone), 'question')} dropped from {self.rows}: their evidence is gone from the documents."

    def declare(self) -> tuple[str, ...]:
        """Write the experiment, unless it is there; sentences on what it leaves out and why."""
        if self.is_declared:
            return (f"The experiment {self.path} exists, and is used unchanged.",)
        headings = sum(any(part.path for part in sections(each.text)) for each in self.corpus.documents)
        headed = 10 * headings >= len(self.corpus.documents)
        axes = {"chunker": f"chunker=recursive,{'markdown' if headed else 'sentence'}", "selector": "selector=none,parents"}
        axes |= {"passage": "passage=plain,titled"} if headed else {}
        fitting, said = self.fitting(passes=4 if headed else 2)
        places = [written("dataset.path", str(self.rows.parent)), written("loader.path", self.folder)]
        write_experiment(self.path, [*places, *OWN, *fitting, METRICS, "latency=8"], axes)
        return *said, *([] if headed else ["Few documents have headings: titles above chunks are not tried."])


def try_folder(folder: str, *overrides: str, questions: int = 60) -> SweepResult:
    """Sweep a folder as `rag try` does: read it, make at most so many questions by rules, compare a few settings.

    What it writes is used again by the next call: experiments/NAME.yaml and datasets/NAME, NAME is that of the folder.
    DataError for a folder without text, and for one about which rules find nothing to ask.
    """
    first = FirstSweep(folder, overrides)
    first.set_aside()
    first.ask(questions)
    first.declare()
    with first.held():
        return sweep(first.name, overrides)


def handbook() -> tuple[Path, list[Mapping[str, Any]]]:
    """The file of the questions about the handbook, and its rows."""
    path = Path(config_of_folder(["handbook"])["dataset"]["path"], QUESTIONS)
    return path, [row.fields for row in read_rows(path)]
