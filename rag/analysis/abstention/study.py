"""A trial → how well the similarity of what was found tells when to decline, and a threshold from `tune` on `holdout`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag.analysis.abstention.curve import Area, Cases, Checked, Point, area, check, choose, points
from rag.config.compose import compose, hydra_ready, resolve
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.core.errors import ConfigError, DataError
from rag.core.records import SPLITS, Example, Hit
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.agreement import Estimate
from rag.execution.graph import plan
from rag.execution.graph.executors import Listener, carry_out
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.stage_inputs import answers_of, corpus_of, rankings_of
from rag.execution.store import holdout_log, maintenance
from rag.execution.store.store import Entry, Store
from rag.execution.sweep.open_config import config_to_answer

FLOOR = "retrieval_floor"
FLOORS = "rag.components.checks.retrieval_floor.RetrievalFloorCheck"


@dataclass(frozen=True)
class Study:
    """A trial without a floor, ready to run: `correct` is the column that says how good an answer is, `floor` the check."""

    made: Plan
    trial: PlannedTrial
    store: Store
    correct: str
    floor: Any

    def run(self, listen: Listener) -> None:
        """Run what is missing; the holdout is measured, which is a look at it. DataError with the reason where it fails."""
        golden = self.trial.golden
        if golden.sizes.get(SPLITS[1]):
            holdout_log.look(
                self.store, golden.split(SPLITS[1]).golden_digest, [self.trial.trial_id], self.made.experiment.name
            )
        outcomes = carry_out(self.made, self.store, self.trial.trial.config["execute"], listen).checked()
        broken = next((outcome.error for outcome in outcomes.values() if outcome.error), None)
        if broken:
            raise DataError(f"trial {self.trial.trial_id}", f"cannot be run: {broken.strip()}", "mend that and try again")

    def entry(self, key: str) -> Entry:
        """The result of a stage; DataError where it is gone."""
        found = self.store.read(self.made.stages[key].entry)
        if found is None:
            raise DataError(f"stage {self.made.stages[key].name}", "is not in the store any more", "run this again")
        return found


@dataclass(frozen=True)
class Part:
    """The questions of one split: how many there are, how many the generator declined itself, which no threshold changes."""

    questions: int
    unanswerable: int
    declined: int
    area: Area
    cases: Cases


@dataclass(frozen=True)
class AbstentionStudy:
    """What a study found. `unscored` are answers to questions with gold that the column says nothing of: they are left out."""

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
        """What `rag abstention --json` prints; null for what cannot be known, and for a threshold that keeps or drops all."""
        parts = {
            split: {
                "questions": part.questions,
                "unanswerable": part.unanswerable,
                "declined_by_generator": part.declined,
                **_plain(asdict(part.area)),
                **({"at_threshold": _plain(asdict(self.held[split]))} if split in self.held else {}),
            }
            for split, part in self.parts.items()
        }
        told = {"trial": self.trial_id, "name": self.name, "correct": self.correct, "unscored": self.unscored}
        told |= {"risk": self.risk, "chosen": _plain(asdict(self.chosen)), "splits": parts}
        return told | {"curve": [_plain(asdict(point)) for point in self.curve]}


def prepare(overrides: Sequence[str], correct: str) -> Study:
    """Plan a trial, of a sweep (`trial=<id>`) or of overrides, on all questions and without a floor; what is stored is reused.

    ConfigError for a column that no metric measures, and without a generator: beside `trial=<id>` overrides may name one.
    """
    config, _ = config_to_answer(overrides, generates=False)
    checks = {name: node for name, node in config["check"].items() if node.get("_target_") != FLOORS}
    metric = correct.partition("@")[0]
    with hydra_ready():
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
    """Read a study that ran: areas, the curve of tune, the threshold chosen on it, and what it does on either split."""
    examples = study.trial.golden.examples
    losses, answered = _losses(study, examples)
    confidence, answerable = _confidence(study, examples), np.array([example.has_gold for example in examples])
    known = answerable | np.array([example.to_decline for example in examples])
    cases = Cases(confidence, losses, answerable, tuple(example.cluster or example.query.query_id for example in examples))
    parts = {}
    for split in sorted({example.split for example in examples}, key=lambda name: (name != SPLITS[0], name)):
        own = known & np.array([example.split == split for example in examples])
        kept = cases.among(own & answered & ~np.isnan(losses))
        if len(kept):
            counts = int(own.sum()), int((own & ~answerable).sum()), int((own & ~answered).sum())
            parts[split] = Part(*counts, area(kept, draws), kept)
    if SPLITS[0] not in parts:
        raise DataError("split", f"no question of {SPLITS[0]!r} was answered", "a threshold is chosen on its questions")
    curve = points(parts[SPLITS[0]].cases)
    chosen = choose(curve, risk)
    held = {split: check(part.cases, chosen.threshold, draws) for split, part in parts.items()}
    unscored = int((np.isnan(losses) & answered & known).sum())
    names = study.trial.trial_id, study.trial.trial.name, study.correct
    return AbstentionStudy(*names, parts, unscored, curve, chosen, held, risk)


def _losses(study: Study, examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """What answering each question cost, NaN where the column does not say, and whether it was answered."""
    scores = Scores.from_arrays(study.entry(study.trial.ends.score).arrays).values[:, 0]
    corpus = corpus_of(study.entry(study.trial.ends.corpus), study.trial.golden)
    answers = answers_of(study.entry(study.trial.ends.check or ""), corpus, [example.query for example in examples])
    losses = np.where([example.has_gold for example in examples], 1 - scores, 1.0)
    return losses, np.array([answer is None or not answer.abstained for answer in answers])


def _confidence(study: Study, examples: Sequence[Example]) -> np.ndarray:
    """The similarity of question and nearest passage, as the floor measures it."""
    corpus = corpus_of(study.entry(study.trial.ends.corpus), study.trial.golden)
    heads = rankings_of(study.entry(study.trial.ends.ranking)).first(study.trial.trial.config["k"])
    found = [tuple(Hit(corpus.chunk(place), score) for place, score in heads.row(row)) for row in range(len(heads))]
    return np.array(study.floor.similarity([example.query for example in examples], found), np.float64)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _known(value) for name, value in values.items()}


def _known(value: Any) -> Any:
    if isinstance(value, Estimate):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return _plain(value)
    return round(value, 6) if isinstance(value, float) and math.isfinite(value) else None if isinstance(value, float) else value
