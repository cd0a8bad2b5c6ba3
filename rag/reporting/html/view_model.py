"""The content of a report as plain data, which the page and the Markdown show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.analysis.chunk_structure import SeenChunk

SOLVED, PARTLY, LOST, NO_GOLD, FAILED = range(5)
OUTCOMES = ("solved", "partly solved", "lost", "nothing to find", "failed")
"""Outcomes of a question within k: all evidence found, some, none; a question without evidence; no result."""


@dataclass(frozen=True)
class Mean:
    """A mean with its interval; NaN for unknown values."""

    mean: float
    low: float = float("nan")
    high: float = float("nan")
    n: int = 0

    @classmethod
    def of(cls, record: Mapping[str, Any], mean: str = "mean", low: str = "low", high: str = "high") -> "Mean":
        """From JSON values by their names; None stands for NaN."""
        values = [float("nan") if record.get(name) is None else float(record[name]) for name in (mean, low, high)]
        return cls(values[0], values[1], values[2], int(record.get("n") or 0))


@dataclass(frozen=True)
class TrialRow:
    """One trial of the leaderboard. `score` is the value of the objective; `measured` holds values such as latency.

    `quotes` counts gold quotes by fate; it is empty where all are exact.
    """

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
    quotes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The recommendation. `tied` holds the ids of trials that are not shown to be worse, `held` counts holdout questions."""

    best: str
    recommended: str
    tied: tuple[str, ...]
    why: str
    holdout: bool
    looks: int = 0
    family: int = 0
    held: int = 0
    enough: bool = True


@dataclass(frozen=True)
class Factor:
    """A choice against the reference of its axis; `other` is the other choice of an interaction, or empty."""

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
    """The gain of the recommended trial if one part were perfect."""

    part: str
    gain: Mean


@dataclass(frozen=True)
class Listing:
    """A finding that is a table. A line begins with its name, followed by one cell per column."""

    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    sentence: str = ""


@dataclass(frozen=True)
class Reuse:
    """Stages of single trials, distinct stages, and the seconds they took; `kinds` has both counts by kind of stage."""

    trials: int
    one_by_one: int
    distinct: int
    seconds: float
    kinds: tuple[tuple[str, int, int], ...] = ()

    @property
    def share(self) -> float:
        """The share of the stages of all trials that other trials had run."""
        return 1 - self.distinct / self.one_by_one if self.one_by_one else 0.0


@dataclass(frozen=True)
class Data:
    """The golden set of a report."""

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
    """The results of one trial, question by question; rows are questions.

    `outcomes` and `stages` are numbers (OUTCOMES; the stage that lost it counted from 1, 0 for none), `scores` by column.
    `ranking` names the rankings that the trial reads: trials with the same name show the same passages.
    """

    trial_id: str
    k: int
    outcomes: Sequence[int]
    stages: Sequence[int]
    scores: Mapping[str, Sequence[float]]
    ranking: str
    answers: Sequence[str] = ()


@dataclass(frozen=True)
class GoldChunks:
    """Chunks at one group of gold with their ranks, 0 if not found; what is known of them, in words that follow a name."""

    said: str
    document: str = ""
    chunks: tuple[tuple[int, SeenChunk], ...] = ()


@dataclass(frozen=True)
class Ranked:
    """Best passages per question, None for a hit within one above; the rank of each group of evidence, 0 if not found.

    `gold` has the chunks at each group of each question.
    """

    passages: Sequence[Sequence[Passage | None]]
    found: Sequence[Sequence[int]]
    gold: Sequence[Sequence[GoldChunks]] = ()


@dataclass(frozen=True)
class Explorer:
    """Questions, the results of trials, and the texts of the documents."""

    questions: tuple[Question, ...]
    trials: tuple[Shown, ...]
    rankings: Mapping[str, Ranked]
    documents: Mapping[str, str]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Material:
    """Everything in a report.

    `missing` has reasons for empty sections, `wins` says where choices are best, `per_question` is a metric for `measure`, or
    empty.
    """

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
    routes: Listing | None = None
    inputs: Listing | None = None
    latency: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    explorer: Explorer | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    wins: tuple[str, ...] = ()
    digits: int = 3
    per_question: str = ""

    @property
    def measure(self) -> str:
        """The score of questions: the objective, or a metric if the objective is measured by trial."""
        return self.per_question or self.column

    def quality(self, row: TrialRow) -> Mean:
        """A trial's mean of `measure`."""
        return row.metrics.get(self.per_question, Mean(float("nan"))) if self.per_question else row.score

    @property
    def done(self) -> tuple[TrialRow, ...]:
        """The trials with scores that compete: no failed ones and no controls."""
        done = tuple(row for row in self.trials if row.status == "done")
        return tuple(row for row in done if row.control == "none") or done

    def row(self, trial_id: str) -> TrialRow | None:
        """The trial with an id."""
        return next((row for row in self.trials if row.trial_id == trial_id), None)

    @property
    def chosen(self) -> TrialRow | None:
        """The recommended trial; without a verdict the first of the leaderboard."""
        return (self.verdict and self.row(self.verdict.recommended)) or next(iter(self.done), None)
