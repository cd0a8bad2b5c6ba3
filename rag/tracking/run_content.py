"""What MLflow gets of a sweep, without secrets and as it accepts it, and what was last sent: MLflow is not imported."""

import json
import os
import posixpath
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import yaml

from rag.config.identity import digest
from rag.core.files import is_running, replace_text
from rag.core.redaction import redacted_json, redacted_text
from rag.tracking.connection import sqlite_file

Value = TypeVar("Value")

KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Makes MLflow show the comparison of runs, in addition to traces, on the page of an experiment."""
LONGEST_NAME = 250
"""Most characters in the name of a parameter, a metric or a tag."""
LONGEST_PARAM = 500
"""Most characters of a parameter that every MLflow server accepts; newer ones cut at 6,000. config.yaml has all of them."""
LONGEST_TAG = 5000
TABLE = "questions.json"
CONCLUSIONS = ("judge", "verdict", "recommended", "first", "tied", "uses")
"""First words of tags that may change after a run was sent."""


@dataclass(frozen=True)
class TrialRun:
    """One trial: `params` is its flattened config, `metrics` are by column, `files` are texts by file name."""

    trial_id: str
    name: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    config: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)
    status: Literal["FINISHED", "FAILED"] = "FINISHED"
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepRun:
    """One sweep; `metrics` are those of its parent run."""

    experiment: str
    name: str
    dataset_name: str
    dataset_digest: str
    dataset_source: str
    n_questions: int
    trials: Sequence[TrialRun]
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)


def metric_name(column: str) -> str:
    """A metric's name in MLflow: `recall@5` becomes `recall_5`.

    Slashes are replaced, because some of MLflow's charts show only metrics with slashes if there are any.
    """
    return fitting_name(column.replace("/", "_"))


def fitting(values: Mapping[str, str], longest: int) -> dict[str, str]:
    """Names and values that MLflow accepts, without secrets; a value that is too long is cut and ends in `…`."""
    texts = ((fitting_name(key), redacted_text(key, str(value))) for key, value in values.items())
    return dict(distinct((name, text if len(text) <= longest else text[: longest - 1] + "…") for name, text in texts))


def distinct(pairs: Iterable[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
    """The pairs, with a number after a repeated name: MLflow refuses a name twice."""
    seen: set[str] = set()
    for name, value in pairs:
        numbered = (f"{name[: LONGEST_NAME - 6]}_{number}" for number in range(2, 100_000))
        free = name if name not in seen else next(other for other in numbered if other not in seen)
        seen.add(free)
        yield free, value


def fitting_name(text: str) -> str:
    """The name with `_` for all but letters, digits, `_`, `-`, `.`, blanks and single slashes; no path that leads up."""
    name = re.sub(r"[^/\w.\- ]", "_", text)[:LONGEST_NAME]
    is_plain = posixpath.normpath(name) == name and name != "." and not name.startswith(("/", ".."))
    return name if is_plain else re.sub(r"[/.]", "_", name) or "_"


def sweep_digest(record: SweepRun) -> str:
    """A digest of name, parameters and dataset: two sweeps with the same digest are one."""
    return digest(record.name, record.params, record.dataset_name, record.dataset_digest)


def config_digest(trial: TrialRun) -> str:
    """A digest of the config: a trial with the same id and digest is not sent twice."""
    return digest(redacted_json(trial.config))


def sweep_tags(record: SweepRun) -> dict[str, str]:
    """The tags of a parent run."""
    ours = {"assay.sweep": sweep_digest(record), "assay.questions": str(record.n_questions)}
    return fitting(record.tags, LONGEST_TAG) | _origin(record) | ours


def trial_tags(trial: TrialRun, record: SweepRun, parent: str) -> dict[str, str]:
    """The tags of a trial's run, with those that make MLflow's pages nest it and show its table of questions."""
    ours = {"assay.trial": trial.trial_id, "assay.config": config_digest(trial), "mlflow.parentRunId": parent}
    if TABLE in trial.files:
        ours["mlflow.loggedArtifacts"] = json.dumps([{"path": TABLE, "type": "table"}])
    return fitting(trial.tags, LONGEST_TAG) | _origin(record) | ours


def conclusions(tags: Mapping[str, str]) -> dict[str, str]:
    """The tags that may change after a run was sent: those of its judge and of the verdict."""
    return {name: value for name, value in tags.items() if name.partition(".")[0] in CONCLUSIONS}


def _origin(record: SweepRun) -> dict[str, str]:
    dataset = {"dataset.name": record.dataset_name, "dataset.digest": record.dataset_digest}
    return dataset | {"assay.pid": str(os.getpid()), "assay.host": socket.gethostname()}


def is_orphan(tags: Mapping[str, str]) -> bool:
    """Whether the tags of a run name a process of this machine that is dead."""
    pid = tags.get("assay.pid", "")
    if tags.get("assay.host") != socket.gethostname() or not pid.isdecimal():
        return False
    return not is_running(int(pid))


def artifacts(trial: TrialRun) -> dict[str, str]:
    """The artifacts of a trial by file name: its config and its files."""
    return {"config.yaml": yaml.safe_dump(redacted_json(trial.config), sort_keys=False, allow_unicode=True), **trial.files}


def local_folder(uri: str) -> Path | None:
    """The folder of an artifact location; None if artifacts are behind a service."""
    address = urlsplit(uri)
    if address.scheme == "file":
        return Path(url2pathname(address.path))
    return None if address.scheme else Path(uri)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts to files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


class Receipt:
    """The receipt of a sweep for a tracking URI; there is none for a server, whose runs others may change."""

    def __init__(self, record: SweepRun, uri: str, folder: Path) -> None:
        self._database = sqlite_file(uri)
        self._path = folder / "sent" / f"{digest(uri, record.experiment)[:16]}.json"
        trials = [replace(trial, tags=_lasting(trial.tags)) for trial in record.trials]
        content = asdict(replace(record, trials=trials, tags=_lasting(record.tags)))
        self._content = digest(json.dumps(content, sort_keys=True, default=str))  # a metric may be NaN

    def parent(self) -> str | None:
        """The id of the parent run, if this content was sent and the file was not written to since; else None."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self._path.read_text("utf-8"))
            if self._database and (kept["content"], kept["files"]) == (self._content, self._files()):
                return str(kept["parent"])
        return None

    def write(self, parent: str) -> None:
        """Note that all was sent."""
        if self._database:
            with suppress(OSError):  # it is sent again, which changes nothing
                replace_text(self._path, json.dumps({"content": self._content, "files": self._files(), "parent": parent}))

    def _files(self) -> list[Any]:
        """Sizes and times of the database file and of its write-ahead log."""
        paths = [Path(f"{self._database}{suffix}") for suffix in ("", "-wal")]
        return [[path.stat().st_size, path.stat().st_mtime_ns] if path.exists() else None for path in paths]


def _lasting(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags without the commit: the same results from another commit are not new."""
    return {name: value for name, value in tags.items() if name != "git.commit"}
