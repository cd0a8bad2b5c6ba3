"""What MLflow is told of a sweep, in names and lengths that it takes, and without secrets. Plain data, no MLflow."""

import json
import logging
import os
import posixpath
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

import yaml

from rag.config.identity import digest
from rag.core.files import is_running, locked
from rag.core.redaction import redacted_json, redacted_text

Value = TypeVar("Value")

KIND = {"mlflow.experimentKind": "custom_model_development"}
"""Makes MLflow offer runs, side by side, beside the traces that its page of an experiment opens on."""
LONGEST_NAME = 250
"""Characters that MLflow allows in the name of a parameter, a metric or a tag."""
LONGEST_PARAM = 500
"""Characters of a parameter that every MLflow server takes; newer ones cut at 6,000. config.yaml holds them in full."""
LONGEST_TAG = 5000
TABLE = "questions.json"
CONCLUSIONS = ("judge", "verdict", "recommended", "tied", "looks")
"""First words of the names of tags that may change after a run was sent."""

ENVIRONMENT: Mapping[str, str] = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
}
"""Set before MLflow is imported unless somebody has set them: no calls home, no prints, no minutes of retries."""


@dataclass(frozen=True)
class QuestionTable:
    """Scores and answers, one row per question; every row has one value per column."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class TrialRecord:
    """One trial: `params` is its flattened config, `config` the same in full, `metrics` have their names as typed.

    `files` are further texts by name.
    """

    trial_id: str
    name: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    config: Mapping[str, Any]
    tags: Mapping[str, str] = field(default_factory=dict)
    table: QuestionTable | None = None
    status: Literal["FINISHED", "FAILED"] = "FINISHED"
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepRecord:
    """Everything about a sweep that MLflow is told; `metrics` are those of the run that sends it."""

    experiment: str
    name: str
    dataset_name: str
    dataset_digest: str
    dataset_source: str
    n_questions: int
    trials: Sequence[TrialRecord]
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)


def metric_name(column: str) -> str:
    """A metric's name as MLflow takes it: `recall@5` becomes `recall_5`.

    No slash is left: where one metric has it, some of MLflow's charts leave out those that have none.
    """
    return fitting_name(column.replace("/", "_"))


def named_metrics(metrics: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Metrics under names that MLflow takes."""
    return distinct((metric_name(column), value) for column, value in metrics.items())


def fitting(values: Mapping[str, str], longest: int) -> dict[str, str]:
    """Names and values as MLflow takes them, without secrets; what is too long ends in `…`."""
    texts = ((fitting_name(key), redacted_text(key, str(value))) for key, value in values.items())
    return dict(distinct((name, text if len(text) <= longest else text[: longest - 1] + "…") for name, text in texts))


def distinct(pairs: Iterable[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
    """The same pairs with a number behind every name that came before: MLflow refuses a name twice."""
    seen: set[str] = set()
    for name, value in pairs:
        numbered = (f"{name[: LONGEST_NAME - 6]}_{number}" for number in range(2, 100_000))
        free = name if name not in seen else next(other for other in numbered if other not in seen)
        seen.add(free)
        yield free, value


def fitting_name(text: str) -> str:
    """Letters, digits, `_`, `-`, `.`, blanks and single slashes; MLflow refuses other names, and any that walks up a path."""
    name = re.sub(r"[^/\w.\- ]", "_", text)[:LONGEST_NAME]
    is_plain = posixpath.normpath(name) == name and name != "." and not name.startswith(("/", ".."))
    return name if is_plain else re.sub(r"[/.]", "_", name) or "_"


def sweep_digest(record: SweepRecord) -> str:
    """What makes two sweeps the same: name, parameters and dataset."""
    return digest(record.name, record.params, record.dataset_name, record.dataset_digest)


def config_digest(trial: TrialRecord) -> str:
    """What makes two sendings of a trial the same, besides its id: the config."""
    return digest(redacted_json(trial.config))


def sweep_tags(record: SweepRecord) -> dict[str, str]:
    """The tags of a parent run."""
    ours = {"assay.sweep": sweep_digest(record), "assay.questions": str(record.n_questions)}
    return fitting(record.tags, LONGEST_TAG) | _origin(record) | ours


def trial_tags(trial: TrialRecord, record: SweepRecord, parent: str) -> dict[str, str]:
    """The tags of a trial's run, with those by which MLflow's pages nest it and show its table."""
    ours = {"assay.trial": trial.trial_id, "assay.config": config_digest(trial), "mlflow.parentRunId": parent}
    if trial.table is not None:
        ours["mlflow.loggedArtifacts"] = json.dumps([{"path": TABLE, "type": "table"}])
    return fitting(trial.tags, LONGEST_TAG) | _origin(record) | ours


def verdicts(tags: Mapping[str, str]) -> dict[str, str]:
    """Those tags that may change after a run was sent: the card of its judge, and what its sweep concluded."""
    return {name: value for name, value in tags.items() if name.partition(".")[0] in CONCLUSIONS}


def _origin(record: SweepRecord) -> dict[str, str]:
    dataset = {"dataset.name": record.dataset_name, "dataset.digest": record.dataset_digest}
    return dataset | {"assay.pid": str(os.getpid()), "assay.host": socket.gethostname()}


def is_orphan(tags: Mapping[str, str]) -> bool:
    """Whether the process that began a run was one of this machine and has gone."""
    pid = tags.get("assay.pid", "")
    if tags.get("assay.host") != socket.gethostname() or not pid.isdecimal():
        return False
    return not is_running(int(pid))


def artifacts(trial: TrialRecord) -> dict[str, str]:
    """The files of a trial by name: its config in full, and its questions in the format of MLflow's tables."""
    files = {"config.yaml": yaml.safe_dump(redacted_json(trial.config), sort_keys=False, allow_unicode=True), **trial.files}
    if trial.table is not None:
        content = {"columns": list(trial.table.columns), "data": redacted_json(trial.table.rows)}
        files[TABLE] = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return files


def error_line(error: Exception) -> str:
    """What an error of MLflow says, on one line, without secrets."""
    text = (redacted_text("", str(error)).strip() or type(error).__name__).splitlines()[0]
    # Behind four layers of HTTP stands what happened.
    reason = re.search(r"Max retries exceeded .*\[Errno -?\d+\] ([^\"'()]+)", text)
    return f"nobody answers ({reason[1].strip()})" if reason else text[:300]


@contextmanager
def quiet() -> Iterator[None]:
    """MLflow tells of 90 migrations, and of every error with a traceback that ours already has."""
    loggers = {logger: logger.level for logger in map(logging.getLogger, ("mlflow", "alembic"))}
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)


def local_folder(uri: str) -> Path | None:
    """The folder that an artifact location is, None if it lies behind a service."""
    address = urlsplit(uri)
    if address.scheme == "file":
        return Path(url2pathname(address.path))
    return None if address.scheme else Path(uri)


def sqlite_file(uri: str) -> Path | None:
    """The database file that a tracking URI names, None if it names none."""
    path = unquote(uri.removeprefix("sqlite:///").split("?")[0])
    return Path(path).absolute() if uri.startswith("sqlite:///") and path != ":memory:" else None


@contextmanager
def alone(uri: str) -> Iterator[None]:
    """Keep other processes of this machine from sending to a database file too: two with the same sweep would send it twice."""
    database = sqlite_file(uri)
    if database is None:
        yield
        return
    with locked(Path(f"{database}.sending.lock")):
        yield


def sqlite_uri(path: Path) -> str:
    """The tracking URI of a database file; SQLAlchemy reads `%` and `?` in it."""
    return "sqlite:///" + str(path).replace("%", "%25").replace("?", "%3F")


def commit_fast(tracking_store: Any) -> None:
    """Let commits wait less for the disk: SQLite's write-ahead log, which a crash leaves intact. A trial takes six commits."""
    import sqlalchemy

    engine = getattr(tracking_store, "engine", None)
    if engine is not None and not sqlalchemy.event.contains(engine, "connect", _log_ahead):
        sqlalchemy.event.listen(engine, "connect", _log_ahead)
        engine.dispose()


def _log_ahead(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts by file name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
