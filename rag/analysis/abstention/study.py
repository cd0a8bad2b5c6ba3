"""How well the similarity of the best passage shows when to decline, with a threshold from `tune`, checked on `holdout`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rag.analysis.abstention.curve import Area, Cases, Checked, Point, area, check, choose, points
from rag.analysis.blame.reader import Reader
from rag.analysis.why.reopened_trial import run_missing
from rag.config.compose import compose, composing, resolve
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.core.errors import ConfigError, DataError
from rag.core.types import SPLITS, Example, Hit
from rag.evaluation.scoring import Scores
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import answers_of
from rag.execution.store import holdout_log, maintenance
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_to_answer

FLOOR = "retrieval_floor"
FLOORS = "rag.components.checks.retrieval_floor.RetrievalFloorCheck"


@dataclass(frozen=True)
class Study:
    """A trial without a similarity floor, ready to run: `correct` is the column that scores answers, `floor` the check."""

    made: Plan
    trial: PlannedTrial
    store: Store
    correct: str
    floor: Any

    def run(self, listen: Listener) -> None:
        """Run what is missing; with a holdout this is logged as a use. DataError with the reason if it fails."""
        golden = self.trial.golden
        if golden.sizes.get(SPLITS[1]):
            digest = golden.split(SPLITS[1]).asked_digest
            holdout_log.log_use(self.store, digest, [self.trial.trial_id], self.made.experiment.name)
        run_missing(self.trial, self.made, self.store, listen)

    @cached_property
    def reader(self) -> Reader:
        """The stored results."""
        return Reader(self.made, self.store)


@dataclass(frozen=True)
class Part:
    """The questions of one split; the generator itself `declined` some, which no threshold changes."""

    questions: int
    unanswerable: int
    declined: int
    area: Area
    cases: Cases


@dataclass(frozen=True)
class AbstentionStudy:
    """The result of a study. `unscored` counts answers to questions with gold that have no score: they are left out."""

    trial_id: str
    name: str
    correct: str
    parts: Mapping[str, Part]
    unscored: int
    curve: Sequence[Point]
    chosen: Point
    held: Mapping[str, Checked]
    risk: float | None

    def to_json(self) -> dict[str, Any]:
        """What `rag study abstention --json` prints; null for what is unknown, and for a threshold that keeps or drops all."""
        parts = {
            split: {
                "questions": part.questions,
                "unanswerable": part.unanswerable,
                "declined_by_generator": part.declined,
                **_rounded(asdict(part.area)),
                **({"at_threshold": _rounded(asdict(self.held[split]))} if split in self.held else {}),
            }
            for split, part in self.parts.items()
        }
        names = {"trial": self.trial_id, "name": self.name, "correct": self.correct, "unscored": self.unscored}
        chosen = {"risk": self.risk, "chosen": _rounded(asdict(self.chosen)), "splits": parts}
        return names | chosen | {"curve": [_rounded(asdict(point)) for point in self.curve]}


def prepare(overrides: Sequence[str], correct: str) -> Study:
    """Plan a trial, of a sweep (`trial=<id>`) or of overrides, on all questions and without a floor; stored stages are reused.

    ConfigError for a column that no metric measures, and without a generator; overrides after `trial=<id>` may name one.
    """
    config, _ = config_to_answer(overrides, generates=False)
    checks = {name: node for name, node in config["check"].items() if node.get("_target_") != FLOORS}
    metric = correct.partition("@")[0]
    with composing():
        shipped = resolve(compose([f"metric=[{metric}]", f"check=[{FLOOR}]", "metrics=[]"]))
    floors = [node for node in config["check"].values() if node.get("_target_") == FLOORS]
    floor = floors[0] if floors else {**shipped["check"][FLOOR], "embedder": config["embedder"]}
    measured = {metric: config["metric"].get(metric) or shipped["metric"][metric]}
    changed = {"check": checks, "metric": measured, "metrics": [correct], "latency": 0, "split": "all"}
    store = maintenance.at(config["store"])
    name = " ".join(overrides) or "the default config"
    made = plan.assemble(Experiment("abstention", "", ()), [Trial(name, {}, {**config, **changed})], store)
    (trial,) = made.trials
    if not trial.ends.check:
        raise ConfigError("generator", "generates nothing, so nothing can be declined", "generator=extractive needs no key")
    return Study(made, trial, store, correct, made.graph.components.build(floor, f"check.{FLOOR}"))


def tell(study: Study, risk: float | None = None, draws: int = 10_000) -> AbstentionStudy:
    """Read a study that ran: areas, the curve of tune, the threshold chosen on it, and its effect on each split."""
    examples = study.trial.golden.examples
    losses, answered = _losses(study, examples)
    confidence, answerable = _confidence(study, examples), np.array([example.has_gold for example in examples])
    # The floor compares questions with passages, and so does not concern what records answer.
    known = answerable | np.array([example.to_decline for example in examples])
    known &= np.array([example.route != "records" for example in examples])
    cases = Cases(confidence, losses, answerable, tuple(example.cluster or example.query.query_id for example in examples))
    parts = {}
    for split in sorted({example.split for example in examples}, key=lambda name: (name != SPLITS[0], name)):
        own = known & np.array([example.split == split for example in examples])
        scored = cases.among(own & answered & ~np.isnan(losses))
        if len(scored):
            counts = int(own.sum()), int((own & ~answerable).sum()), int((own & ~answered).sum())
            parts[split] = Part(*counts, area(scored, draws), scored)
    if SPLITS[0] not in parts:
        raise DataError("split", f"no question of {SPLITS[0]!r} was answered", "a threshold is chosen on its questions")
    curve = points(parts[SPLITS[0]].cases)
    chosen = choose(curve, risk)
    held = {split: check(part.cases, chosen.threshold, draws) for split, part in parts.items()}
    unscored = int((np.isnan(losses) & answered & known).sum())
    names = study.trial.trial_id, study.trial.trial.name, study.correct
    return AbstentionStudy(*names, parts, unscored, curve, chosen, held, risk)


def _losses(study: Study, examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """The loss of answering each question, NaN without a score, and whether it was answered."""
    reader, ends = study.reader, study.trial.ends
    scores = Scores.from_arrays(reader.runner.obtain(ends.score).arrays).values[:, 0]
    queries = [example.query for example in examples]
    answers = answers_of(reader.runner.obtain(ends.check or ""), reader.corpus(study.trial), queries)
    losses = np.where([example.has_gold for example in examples], 1 - scores, 1.0)
    return losses, np.array([answer is None or not answer.abstained for answer in answers])


def _confidence(study: Study, examples: Sequence[Example]) -> np.ndarray:
    """The similarity of each question and its nearest passage, as the floor measures it."""
    corpus, ranking = study.reader.corpus(study.trial), study.reader.rankings(study.trial.ends.ranking)
    heads = ranking.first(study.trial.trial.config["k"])
    hits = [tuple(Hit(corpus.chunk(place), score) for place, score in heads.row(row)) for row in range(len(heads))]
    return np.array(study.floor.similarity([example.query for example in examples], hits), np.float64)


def _rounded(value: Any) -> Any:
    """Numbers with six digits, None for what is not finite."""
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    return value if not isinstance(value, float) else round(value, 6) if math.isfinite(value) else None
