"""A first sweep about a folder of documents: read it, make questions, choose vectors that fit, declare an experiment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.api.folder import OWN, Folder
from rag.api.generation import QUESTIONS, generate_set, write_rows
from rag.api.ingestion import config_of_folder
from rag.api.start import write_experiment
from rag.api.sweeps import SweepResult, sweep
from rag.authoring.review.drift import drifts, waits
from rag.config.compose import written
from rag.core.errors import ConfigError
from rag.core.figures import amount
from rag.documents.folder.json_rows import read_rows

METRICS = "metrics=[ndcg@10,recall@5,recall@4000chars,mrr@10,iou@5,exact_match,token_f1]"


class FirstSweep(Folder):
    """The steps before a first sweep of a folder: read its files, make questions, write the experiment.

    What an earlier run wrote is used again. ConfigError for an experiment of this name about another folder, DataError for a
    folder that is not there.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path.exists() and not self.is_declared:
            raise ConfigError(str(self.path), "is an experiment about other documents", f"rag init --documents {self.folder}")

    @property
    def rows(self) -> Path:
        """The file of the questions."""
        return Path("datasets", self.name, QUESTIONS)

    def ask(self, most: int) -> tuple[list[Mapping[str, Any]], bool]:
        """The rows of the golden set, and whether they are those of an earlier run; at most `most` are made."""
        if not (kept := self.rows.exists()):
            what = [self.folder, *self.overrides, f"language={self.language}"]
            generate_set(what, self.rows.parent, most, documents=self.documents)
        return [row.fields for row in read_rows(self.rows)], kept

    def set_aside(self) -> str:
        """Move questions without a review whose evidence is gone to `lost.jsonl`; a sentence on that, or nothing."""
        rows = [dict(row.fields) for row in read_rows(self.rows)] if self.rows.exists() else []
        made = [row for row in rows if waits(row)]
        documents = {document.doc_id: document for document in self.documents}
        gone = {each.query_id for each in drifts(made, documents) if each.state != "there"}
        lost = [row for row in made if str(row.get("id")) in gone]
        if not lost:
            return ""
        place, left = self.rows.with_name("lost.jsonl"), [row for row in rows if row not in lost]
        earlier = [dict(row.fields) for row in read_rows(place)] if place.exists() else []
        write_rows(place, [*earlier, *lost])
        write_rows(self.rows, left) if left else self.rows.unlink()
        return f"{amount(len(lost), 'question')} whose evidence is gone from the documents: moved to {place}."

    def declare(self) -> tuple[str, ...]:
        """Write the experiment, unless it is there; sentences on what it leaves out and why."""
        if self.is_declared:
            return (f"The experiment {self.path} exists, and is used unchanged.",)
        headed = self.headed
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
    return sweep(first.name, overrides, loaded=first.loaded)


def handbook() -> tuple[Path, list[Mapping[str, Any]]]:
    """The file of the questions about the handbook, and its rows."""
    path = Path(config_of_folder(["handbook"])["dataset"]["path"], QUESTIONS)
    return path, [row.fields for row in read_rows(path)]
