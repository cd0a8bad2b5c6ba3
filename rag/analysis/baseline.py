"""A baseline: the scores of one trial, question by question, committed to git and readable in a review.

It holds all fingerprints that a comparison checks, and the config of the pipeline without machine-dependent parts. Its first
line is a SHA-256 of the rest. That detects edits and merges, not forgery: an author can compute it again. Against forgery a
gate computes a sample of the scores, and its comment says if a pull request changes the baseline.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rag.config.compose import parsed, shipped, written
from rag.config.identity import digest, without_runtime
from rag.core.errors import DataError
from rag.core.files import replace_text
from rag.core.numbers import finite
from rag.core.redaction import redacted_json, redacted_text, without_secrets
from rag.core.roles import fingerprint
from rag.evaluation.scoring import Scores
from rag.execution.graph.plan import ELSEWHERE, Plan, PlannedTrial
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores
from rag.execution.sweep.trial_scores import Result

FOLDER = Path("reports/baselines")
MODELS = ("embedder", "reranker", "generator")
DIGITS = 6
"""Digits of stored scores: last bits of sums differ between machines."""


@dataclass(frozen=True)
class Baseline:
    """The reference of a gate. `result.config` is portable: no secrets, no runtime blocks, no absolute paths.

    `models` are fingerprints of the models of roles, `judge` that of a judging model (none yet), `score` is the key of the
    stage of the scores: a trial with the same key has the same scores. `overrides` are those of its sweep, as portable.
    """

    experiment: str
    split: str
    result: Result
    models: Mapping[str, str]
    score: str
    judge: str | None = None
    overrides: tuple[str, ...] = ()


def path_of(experiment: str, folder: Path = FOLDER) -> Path:
    """The path of the baseline of an experiment."""
    return folder / f"{experiment}.json"


def make_baseline(trial: PlannedTrial, made: Plan, store: Store) -> Baseline:
    """The baseline of a trial that ran; DataError if it did not run."""
    found = trial_scores.read_scores(trial, made, store)
    config = trial.trial.config
    models = models_of(trial, made)
    kept = replace(found, config=portable(config))
    typed = (_portable(override, str(config.get("data") or "")) for override in parsed(made.experiment.typed[1:]))
    split, own = str(config["split"]), tuple(filter(None, typed))
    return Baseline(made.experiment.name, split, kept, models, trial.ends.score, overrides=own)


def _portable(override: Any, data: str) -> str:
    """An override without secrets and paths of this machine; empty for one that defines neither pipeline nor data."""
    line = str(override.input_line)
    key = line.partition("=")[0]
    if key.lstrip("+~").split(".")[0] in {*ELSEWHERE, "split"} - {"language"}:
        return ""
    single = not override.is_sweep_override() and isinstance(override.value(), str)
    return written(key, redacted_text(key, _relative(data, override.value()))) if single else without_secrets(line)


def models_of(trial: PlannedTrial, made: Plan) -> dict[str, str]:
    """The fingerprints of the models of a trial by role; roles without a model are left out."""
    components = {role: made.graph.components.role(role, trial.trial.config[role]) for role in MODELS}
    return {role: known for role, component in components.items() if (known := fingerprint(component))}


def portable(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a config that defines the pipeline, without runtime blocks, secrets and paths of this machine.

    A path below the folder of public data becomes `${data}/…`, a path below the working folder becomes relative.
    """
    kept = without_runtime({key: value for key, value in config.items() if key not in ELSEWHERE})
    return dict(redacted_json(with_texts(kept, partial(_relative, str(config.get("data") or "")))))


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A config with each of its texts changed."""
    if isinstance(value, Mapping):
        return {key: with_texts(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [with_texts(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def _relative(data: str, text: str) -> str:
    if data and (text == data or text.startswith(f"{data}/")):
        return "${data}" + text[len(data) :]
    path = Path(text)
    if not path.is_absolute() or len(path.parts) < 2 or not os.path.exists(text):
        return text
    for base in (Path.cwd(), shipped("conf").parent):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return os.path.relpath(text)


def rerunnable(kept: Baseline, today: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a baseline's pipeline as it runs here.

    Data, places, runtime blocks and keys that are newer than the baseline come from the config of today.
    """
    config = _filled(kept.result.config, today, str(today.get("data") or ""))
    return {**today, **config} | {key: today[key] for key in (*ELSEWHERE, "loader", "dataset", "split") if key in today}


def _filled(node: Any, today: Any, data: str) -> Any:
    if isinstance(node, Mapping):
        current = today if isinstance(today, Mapping) else {}
        filled = {key: _filled(part, current.get(key), data) for key, part in node.items()}
        same = "_target_" in node and node["_target_"] == current.get("_target_")
        return filled | ({"runtime": current["runtime"]} if same and "runtime" in current else {})
    if isinstance(node, list):
        return [_filled(part, None, data) for part in node]
    return node.replace("${data}", data) if isinstance(node, str) else node


def write(kept: Baseline, path: Path) -> None:
    """Write a baseline as in `text_of`; OSError if it cannot be written."""
    replace_text(path, text_of(kept))


def text_of(kept: Baseline) -> str:
    """A baseline as JSON: a digest and a header, then one line per question, sorted by id."""
    result = kept.result
    header = {
        "experiment": kept.experiment,
        "trial": result.name,
        "trial_id": result.trial_id,
        "split": kept.split,
        "choices": dict(result.choices),
        "fingerprints": dict(result.fingerprints),
        "models": dict(kept.models),
        "judge": kept.judge,
        "score": kept.score,
        **({"overrides": list(kept.overrides)} if kept.overrides else {}),
        "columns": list(result.scores.columns),
        "config": result.config,
    }
    head = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    scores = result.scores
    rows = zip(scores.query_ids, scores.values.tolist(), scores.failed.tolist(), strict=True)
    lines = ",\n".join(
        f"  {_json(query_id)}: {_json({'digest': result.questions[query_id], 'failed': failed, 'scores': named})}"
        for query_id, values, failed in sorted(rows)
        for named in [dict(zip(scores.columns, (finite(round(value, DIGITS)) for value in values), strict=True))]
    )
    return signed(f'{head},\n "questions": {{\n{lines}\n }}\n}}\n')


def signed(text: str) -> str:
    """The text of a JSON object with a digest of its content as its first line."""
    return f'{{\n "digest": "{digest(json.loads(text))}",{text[1:]}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def load(path: Path, *, sealed: bool = False) -> Baseline:
    """Read a baseline; DataError if there is none, or if the file is not a valid baseline or was edited.

    `sealed` is true for a file in a bundle: the manifest has its hash, and older bundles have no digest.
    """
    remedy = f"take it from git, or make it: rag study baseline {path.stem}"
    try:
        content = json.loads(path.read_text("utf-8"), parse_constant=_refused)
        found = _loaded(content)
        written = content.pop("digest", None)
        genuine = written == digest(content) or (sealed and written is None)
    except FileNotFoundError as error:
        remedy = f"make it: rag study baseline {path.stem}, and commit it"
        raise DataError(str(path), "there is no baseline yet", remedy) from error
    except OSError as error:
        raise DataError(str(path), f"cannot be read ({error.strerror})", remedy) from error
    except RecursionError as error:
        raise DataError(str(path), "is not a valid baseline (its brackets are nested too deeply)", remedy) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise DataError(str(path), f"is not a valid baseline ({reason})", remedy) from error
    if not genuine:
        what = "was edited, or merged from two versions: its digest does not match"
        raise DataError(str(path), what if written else "has no digest: an older version of Assay wrote it", remedy)
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not a valid score")


def _loaded(content: Any) -> Baseline:
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    columns, lines = tuple(map(str, content["columns"])), dict(content["questions"])
    if not lines:
        raise ValueError("it has no questions")
    values = np.array([[_score(line["scores"][name]) for name in columns] for line in lines.values()], np.float64)
    failed = np.array([line["failed"] is True for line in lines.values()], np.bool_)
    scores = Scores(tuple(lines), columns, values.reshape(len(lines), len(columns)), failed)
    texts = [str(content[key]) for key in ("trial_id", "trial")]
    mappings = [dict(content[key]) for key in ("choices", "config")]
    questions = {query_id: str(line["digest"]) for query_id, line in lines.items()}
    found = Result(texts[0], texts[1], mappings[0], mappings[1], scores, questions, dict(content["fingerprints"]))
    names = str(content["experiment"]), str(content["split"])
    overrides = tuple(map(str, content.get("overrides", ())))
    return Baseline(*names, found, dict(content["models"]), str(content["score"]), content["judge"], overrides)


def _score(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a valid score")
    return float(value)
