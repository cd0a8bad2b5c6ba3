"""A first sweep about a folder of documents: read it, make questions, choose vectors that fit, declare an experiment."""

import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rag.analysis.ingestion.ingest import Ingestion, components_of, ingest
from rag.api.generation import QUESTIONS, generate_set
from rag.api.ingestion import config_of_folder
from rag.api.start import write_experiment
from rag.api.sweeps import SweepResult, sweep
from rag.config.build import Components
from rag.config.catalog import choice
from rag.config.compose import written
from rag.core.errors import ConfigError, DataError
from rag.core.types import Document
from rag.documents.folder.json_rows import read_rows
from rag.documents.languages import language_of
from rag.evaluation.data.golden import load_documents

EMBEDDERS, SECONDS, SAMPLE = ("minilm", "minilm_int8", "static"), 60.0, 32
"""Embedders, the best first; the seconds that the vectors of all trials may take; the chunks by which that is estimated."""
SIZE = 800
"""Characters of a chunk."""
METRICS = "metrics=[ndcg@10,recall@5,recall@4000chars,mrr@10,iou@5,exact_match,token_f1]"
LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch", "pt": "portuguese"}
"""Languages that are recognised, by their codes; others are read as English unless `language=` names one."""


@dataclass(frozen=True)
class FirstSweep:
    """The steps before a first sweep of a folder: read its files, make questions, write the experiment.

    What an earlier run wrote is used again. `overrides` hold for all steps. ConfigError for an experiment of this name about
    another folder, DataError for a folder that is not there.
    """

    folder: str
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not Path(self.folder).is_dir():
            raise DataError(self.folder, "there is no such folder", "name the folder of your documents: rag try FOLDER")
        if self.path.exists() and written("loader.path", self.folder) not in self.path.read_text("utf-8"):
            raise ConfigError(str(self.path), "is an experiment about other documents", f"rag init --documents {self.folder}")

    @property
    def name(self) -> str:
        """The name of the experiment: that of the folder, in letters that a file name may have."""
        return re.sub(r"\W+", "-", Path(self.folder).resolve().name).strip("-_") or "documents"

    @property
    def path(self) -> Path:
        """The file of the experiment."""
        return Path("experiments", f"{self.name}.yaml")

    @property
    def rows(self) -> Path:
        """The file of the questions."""
        return Path("datasets", self.name, QUESTIONS)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The config of the folder."""
        return config_of_folder([self.folder, *self.overrides])

    def read(self) -> Ingestion:
        """Parse the files that are new; DataError where none can be read."""
        done = ingest(self.config)
        if not any(line.characters for line in done.files):
            raise DataError(
                self.folder,
                "holds no text that can be read",
                f"{shlex.join(['rag', 'data', 'ingest', self.folder])} lists each file",
            )
        return done

    @cached_property
    def components(self) -> Components:
        """The builder of components, whose results are in the store of the config."""
        return components_of(self.config)

    @cached_property
    def documents(self) -> Sequence[Document]:
        """The documents of the folder, from the store once they are read."""
        return load_documents(self.components.role("loader", self.config["loader"]))

    @cached_property
    def language(self) -> str:
        """The language that most documents are written in, or the one of `overrides`."""
        if any(override.startswith("language=") for override in self.overrides):
            return str(self.config["language"])
        sizes: dict[str, int] = {}
        for document in self.documents:
            spoken = LANGUAGES.get(language_of(document.text[:SIZE]), "english")
            sizes[spoken] = sizes.get(spoken, 0) + len(document.text)
        return max(sizes, key=sizes.__getitem__)

    def ask(self, most: int) -> tuple[list[Mapping[str, Any]], bool]:
        """The rows of the golden set, and whether they are those of an earlier run; at most `most` are made."""
        if not (kept := self.rows.exists()):
            generate_set([self.folder, *self.overrides, f"language={self.language}"], self.rows.parent, most)
        return [row.fields for row in read_rows(self.rows)], kept

    def declare(self) -> tuple[str, ...]:
        """Write the experiment, unless it is there; sentences on what it leaves out and why."""
        if self.path.exists():
            return (f"The experiment {self.path} exists, and is used unchanged.",)
        headings = any(block.kind == "heading" for document in self.documents for block in document.blocks)
        axes = {"chunker": f"chunker=recursive,{'markdown' if headings else 'sentence'}", "selector": "selector=none,parents"}
        axes |= {"passage": "passage=plain,titled"} if headings else {}
        fitting, said = self._embedder(passes=4 if headings else 2)
        own = [f"language={self.language}"] if self.language != "english" else []
        places = [written("dataset.path", str(self.rows.parent)), written("loader.path", self.folder)]
        write_experiment(self.path, [*places, *own, *fitting, METRICS, "latency=8"], axes)
        return *said, *([] if headings else ["No document has headings: titles above chunks are not tried."])

    def _embedder(self, passes: int) -> tuple[list[str], list[str]]:
        """The first embedder whose vectors take at most SECONDS, and sentences on those that take longer."""
        slow: list[str] = []
        if any(override.startswith("embedder=") for override in self.overrides):
            return [], slow
        if self.language != "english":
            return ["index=[bm25s]", "fusion=single"], [f"The vectors that come along know no {self.language}: words alone."]
        texts, total = self._sample(), passes * sum(len(document.text) for document in self.documents)
        components = self.components.without_inner
        for name in EMBEDDERS[:-1]:
            embedder = components.handed(choice("embedder", name), "embedder")
            embedder.embed_documents(texts[:1])
            began = time.monotonic()
            embedder.embed_documents(texts)
            seconds = (time.monotonic() - began) / sum(map(len, texts)) * total
            if seconds <= SECONDS:
                return [f"embedder={name}"], slow
            slow.append(f"Vectors of {name} would take about {seconds:,.0f} seconds, too long for a first look: not tried.")
        return [f"embedder={EMBEDDERS[-1]}"], slow

    def _sample(self) -> list[str]:
        """Texts of chunks from all over the corpus."""
        chunks = (document.text[at : at + SIZE] for document in self.documents for at in range(0, len(document.text), SIZE))
        listed = list(chunks)
        return listed[:: max(len(listed) // SAMPLE, 1)][:SAMPLE]


def try_folder(folder: str, *overrides: str, questions: int = 60) -> SweepResult:
    """Sweep a folder as `rag try` does: read it, make at most so many questions by rules, compare a few settings.

    What it writes is used again by the next call: experiments/NAME.yaml and datasets/NAME, NAME is that of the folder.
    DataError for a folder without text, and for one about which rules find nothing to ask.
    """
    first = FirstSweep(folder, overrides)
    first.read()
    first.ask(questions)
    first.declare()
    return sweep(first.name, overrides)


def handbook() -> tuple[Path, list[Mapping[str, Any]]]:
    """The file of the questions about the handbook, and its rows."""
    path = Path(config_of_folder(["handbook"])["dataset"]["path"], QUESTIONS)
    return path, [row.fields for row in read_rows(path)]
