"""What a report says, as plain data: gathered once, then drawn as a page and written as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SOLVED, PARTLY, LOST, NO_GOLD, FAILED = range(5)
OUTCOMES = ("solved", "partly solved", "lost", "nothing to find", "failed")
"""What became of a question in a trial, within its k: all evidence found, some, none; a question that has none; no result."""


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; NaN where something cannot be known."""

    mean: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0


@dataclass(frozen=True)
class TrialRow:
    """One trial of the leaderboard. `score` is what the objective orders by, `measured` by clock and scale."""

    trial_id: str
    name: str
    choices: Mapping[str, str]
    status: str
    score: Mean
    metrics: Mapping[str, Mean]
    measured: Mapping[str, float]
    error: str = ""
    holdout: Mean | None = None
    optimism: Mean | None = None
    tied: bool = False
    admitted: bool = True
    front: bool = False
    control: str = "none"
    p_best: float = float("nan")


@dataclass(frozen=True)
class Verdict:
    """Which trial to take. `tied` holds the ids of trials that are not shown to be worse, `held` counts holdout questions."""

    best: str
    recommended: str
    tied: tuple[str, ...]
    why: str
    holdout: bool
    looks: int = 0
    family: int = 0
    rule: str = ""
    held: int = 0


@dataclass(frozen=True)
class Factor:
    """A choice against the reference of its axis; `other` names the choice that it works together with, empty for all."""

    axis: str
    choice: str
    reference: str
    effect: Mean
    p_adjusted: float
    other: str = ""


@dataclass(frozen=True)
class Heat:
    """Means per trial and slice, shrunk towards the trial's mean; shape of `values` (trials, slices), `sizes` per slice."""

    trials: tuple[str, ...]
    slices: tuple[str, ...]
    sizes: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Blame:
    """How many questions each trial lost at each stage; `counts` has shape (trials, stages)."""

    stages: tuple[str, ...]
    trials: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    questions: int


@dataclass(frozen=True)
class Gain:
    """What a perfect part would add to the recommended trial."""

    part: str
    gain: Mean


@dataclass(frozen=True)
class Line:
    """A row of a finding that is a table: what it is about, and what was found in words and figures."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """A finding that is a table."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    sentence: str = ""


@dataclass(frozen=True)
class Reuse:
    """How much of the work of single trials was shared, and what was spent on the rest."""

    trials: int
    one_by_one: int
    distinct: int
    seconds: float
    kinds: tuple[tuple[str, int, int], ...] = ()

    @property
    def share(self) -> float:
        """The share of the stages of all trials that did not have to run for each of them."""
        return 1 - self.distinct / self.one_by_one if self.one_by_one else 0.0


@dataclass(frozen=True)
class Data:
    """What was asked of what."""

    name: str
    documents: int
    characters: int
    questions: int
    clusters: int
    split: str
    digest: str


@dataclass(frozen=True)
class Question:
    """A golden question. `gold` holds groups of (document, start, end), -1 for the start and the end of a whole document."""

    query_id: str
    text: str
    kind: str = ""
    tags: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()
    gold: tuple[tuple[tuple[str, int, int], ...], ...] = ()


Passage = tuple[str, int, int]  # document, start, end


@dataclass(frozen=True)
class Shown:
    """What one trial did, question by question; rows are questions.

    `outcomes` and `stages` are numbers (OUTCOMES; the stage that lost it counted from 1, 0 for none), `scores` by column.
    `ranking` names the list of rankings that the trial reads: trials that share one are shown the same passages.
    """

    trial_id: str
    k: int
    outcomes: Sequence[int]
    stages: Sequence[int]
    scores: Mapping[str, Sequence[float]]
    ranking: str
    answers: Sequence[str] = ()


@dataclass(frozen=True)
class Ranked:
    """Best passages per question, None for a hit within one above; the rank of each group of evidence, 0 if not found."""

    passages: Sequence[Sequence[Passage | None]]
    found: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Explorer:
    """Questions, what trials did with them, and the texts of the documents that they were shown."""

    questions: tuple[Question, ...]
    trials: tuple[Shown, ...]
    rankings: Mapping[str, Ranked]
    documents: Mapping[str, str]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Material:
    """Everything in a report. `missing` says by section why it is empty, `per_question` is what `measure` falls back on."""

    experiment: str
    question: str
    objective: str
    column: str
    maximize: bool
    columns: tuple[str, ...]
    data: Data
    reuse: Reuse
    trials: tuple[TrialRow, ...]
    verdict: Verdict | None = None
    effects: tuple[Factor, ...] = ()
    interactions: tuple[Factor, ...] = ()
    effects_sentence: str = ""
    heat: Heat | None = None
    blame: Blame | None = None
    headroom: tuple[Gain, ...] = ()
    headroom_sentence: str = ""
    controls: Listing | None = None
    judges: Listing | None = None
    audit: Listing | None = None
    found: Listing | None = None
    latency: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    explorer: Explorer | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    digits: int = 3
    per_question: str = ""

    @property
    def measure(self) -> str:
        """What questions are scored by: the objective, or a metric where a clock decides."""
        return self.per_question or self.column

    def quality(self, row: TrialRow) -> Mean:
        """A trial's mean of that measure."""
        return row.metrics.get(self.per_question, Mean(float("nan"))) if self.per_question else row.score

    @property
    def done(self) -> tuple[TrialRow, ...]:
        """The trials that have scores and compete: those that failed, and controls, do not."""
        done = tuple(row for row in self.trials if row.status == "done")
        return tuple(row for row in done if row.control == "none") or done

    def row(self, trial_id: str) -> TrialRow | None:
        """The trial of an id."""
        return next((row for row in self.trials if row.trial_id == trial_id), None)

    @property
    def chosen(self) -> TrialRow | None:
        """The recommended trial; without a verdict the first of the leaderboard."""
        return (self.verdict and self.row(self.verdict.recommended)) or next(iter(self.done), None)
