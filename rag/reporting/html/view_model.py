"""The content of a report as plain data, which the page and the Markdown show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.analysis.chunk_structure import SeenChunk
from rag.analysis.headroom import Headroom
from rag.core.types import Example
from rag.evaluation.statistics.effects import Effect, Interaction
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Mean, Winner

SOLVED, PARTLY, LOST, NO_GOLD, FAILED = range(5)
OUTCOMES = ("solved", "partly solved", "lost", "nothing to find", "failed")
"""Outcomes of a question within k: all evidence found, some, none; a question without evidence; no result."""


UNKNOWN = Mean(float("nan"))


@dataclass(frozen=True)
class TrialRow(Row):
    """A row of the leaderboard with the place of its trial in the verdict. `score` is the value of the objective."""

    score: Mean = UNKNOWN
    holdout: Mean | None = None
    tied: bool = False
    front: bool = False
    control: str = "none"
    p_best: float | None = None


@dataclass(frozen=True)
class Heat:
    """Slices with their numbers of questions; the means of each trial per slice, shrunk towards the trial's mean."""

    slices: Mapping[str, int]
    means: Mapping[str, Sequence[float]]


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
    """The golden set of a report; `answerable` of its questions have something to find."""

    name: str
    documents: int
    characters: int
    questions: int
    answerable: int
    clusters: int
    split: str
    digest: str


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
    """Questions, the results of trials, and the texts of the documents.

    `gold` has the places of each group of each question in the texts, -1 for the start and the end of a whole document.
    """

    questions: tuple[Example, ...]
    gold: Sequence[Sequence[Sequence[Passage]]]
    trials: tuple[Shown, ...]
    rankings: Mapping[str, Ranked]
    documents: Mapping[str, str]
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Material:
    """Everything in a report.

    `missing` has reasons for empty sections, `wins` says where choices are best, `held` counts the questions of the holdout,
    `per_question` is a metric for `measure`, or empty. `what_if` is that of `rag.reporting.html.what_if`. `blame` has the
    number of questions that each trial lost, by stage.
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
    verdict: Winner | None = None
    held: int = 0
    effects: tuple[Effect, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    effects_sentence: str = ""
    heat: Heat | None = None
    blame: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    headroom: tuple[Headroom, ...] = ()
    headroom_sentence: str = ""
    controls: Listing | None = None
    judges: Listing | None = None
    found: Listing | None = None
    routes: Listing | None = None
    inputs: Listing | None = None
    latency: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    explorer: Explorer | None = None
    what_if: Mapping[str, Any] = field(default_factory=dict)
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
        return Mean.from_json(row.metrics.get(self.per_question, {})) if self.per_question else row.score

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
