"""The scores of one trial by question, with fingerprints of everything that two trials must share to be compared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag.config.identity import digest, without_runtime
from rag.core.arrays import Floats
from rag.core.errors import DataError
from rag.core.types import Example
from rag.evaluation.data.golden_digests import asked_fields
from rag.evaluation.scoring import Scores, parse_column
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.store.serialisation import AnswerParts, answer_parts
from rag.execution.store.store import Store


@dataclass(frozen=True)
class Result:
    """Scores of one trial. `questions` has the digest of each golden question by id, in the order of the rows of `scores`.

    `fingerprints` holds digests of what scores depend on besides the pipeline: `golden`, `corpus`, `coverage`, and
    `metric <name>` for every metric. Results with different fingerprints do not measure the same thing.
    """

    trial_id: str
    name: str
    choices: Mapping[str, str]
    config: Mapping[str, Any]
    scores: Scores
    questions: Mapping[str, str]
    fingerprints: Mapping[str, str]


def question_digest(example: Example) -> str:
    """Sixteen hex digits of a digest over all fields of a golden question, quotes as they are asked."""
    return digest(asked_fields(example))[:16]


def fingerprints(trial: PlannedTrial) -> dict[str, str]:
    """Digests of everything but the pipeline that the scores of a trial depend on.

    A metric counts by its class and parameters, not by its code, so that a baseline outlives refactorings: the conformance
    suite checks the code.
    """
    config = trial.trial.config
    columns = (parse_column(column, config["k"], config["metric"]).metric for column in config["metrics"])
    metrics = {f"metric {name}": digest(without_runtime(config["metric"][name]))[:16] for name in dict.fromkeys(columns)}
    data = {"golden": trial.golden.asked_digest[:16], "corpus": trial.golden.corpus_digest[:16]}
    return data | {"coverage": str(config["coverage"])} | metrics


def scores_of(trial: PlannedTrial, made: Plan, store: Store) -> Scores | None:
    """The scores of a trial by question; None where it has none in the store."""
    entry = store.read(made.stages[trial.ends.score].entry)
    return Scores.from_arrays(entry.arrays) if entry else None


def seconds_of(trial: PlannedTrial, made: Plan, store: Store) -> Floats | None:
    """The seconds of the questions that were timed; None where the store has none."""
    entry = store.read(made.stages[trial.ends.latency].entry) if trial.ends.latency else None
    return np.asarray(entry.arrays["seconds"], np.float64) if entry else None


def stored_answers(trial: PlannedTrial, made: Plan, store: Store) -> list[AnswerParts | None] | None:
    """The answers of a trial by question; None where the store has none."""
    meta = store.read_meta(made.stages[trial.ends.check].entry) if trial.ends.check else None
    return None if meta is None else answer_parts(meta)


def result_of(trial: PlannedTrial, scores: Scores) -> Result:
    """The result of a trial with these scores."""
    planned = trial.trial
    questions = {example.query.query_id: question_digest(example) for example in trial.golden.examples}
    return Result(trial.trial_id, planned.name, planned.choices, planned.config, scores, questions, fingerprints(trial))


def read_scores(trial: PlannedTrial, made: Plan, store: Store) -> Result:
    """The result of a trial; DataError where it has no scores in the store."""
    scores = scores_of(trial, made, store)
    if scores is None:
        raise DataError(f"trial {trial.trial_id}", "has no scores in the store", "run its sweep again: what is there is reused")
    return result_of(trial, scores)
