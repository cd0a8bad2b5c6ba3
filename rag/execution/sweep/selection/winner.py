"""Trials that compete, their standings, and the winner among them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.core.arrays import Floats, Ints
from rag.core.errors import DataError
from rag.core.figures import amount, with_interval
from rag.core.numbers import finite
from rag.execution.sweep.selection.rule import Rule


@dataclass(frozen=True)
class Mean:
    """A mean, or a difference of means, with its 95 % interval; NaN where it cannot be known. `n` questions have a value."""

    mean: float
    low: float = math.nan
    high: float = math.nan
    n: int = field(default=0, kw_only=True)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Mean":
        """From JSON values; what is None or missing is not known."""
        ends = (content.get(name) for name in ("mean", "low", "high"))
        return cls(*(math.nan if end is None else float(end) for end in ends), n=int(content.get("n") or 0))

    def to_json(self) -> dict[str, float | None]:
        """As JSON values, without `n`; None for NaN."""
        return {name: finite(getattr(self, name)) for name in ("mean", "low", "high")}


@dataclass(frozen=True)
class Entrant:
    """A trial that competes: `values` is the objective per question, higher is better, or None where a clock decides.

    `quality` then takes its place on the Pareto front. `reached` is the mean as it is printed, `seconds` are times of single
    questions, the same in all trials; `latency` is in ms, `cost` in US dollars, `size` in bytes, `read` in characters for a
    question, NaN where not measured.
    """

    trial_id: str
    name: str
    values: Floats | None
    quality: Floats | None
    reached: Mean
    seconds: Floats
    latency: float = math.nan
    cost: float = math.nan
    size: float = math.nan
    read: float = math.nan


@dataclass(frozen=True)
class Unsettled:
    """A cheaper trial that may or may not be worse by more than the margin, with its difference `behind` from the best.

    `lowest` is the lower end of that difference; both are 0 or less. `needed` is about how many questions would decide,
    infinite where the difference is the margin or more.
    """

    entrant: Entrant
    saving: str
    behind: float
    lowest: float
    needed: float

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `needed` is None where it is infinite."""
        needed = round(self.needed) if math.isfinite(self.needed) else None
        names = {"trial_id": self.entrant.trial_id, "name": self.entrant.name, "saving": self.saving}
        return {**names, "behind": self.behind, "lowest": self.lowest, "needed": needed}


@dataclass(frozen=True)
class Holdout:
    """The objective per question of the trials on the holdout, by the ids that they have in the sweep."""

    values: Mapping[str, Floats]
    cluster: Ints
    uses: int


@dataclass(frozen=True)
class Standing:
    """The place of a trial. `admitted`: it ended, has a value and keeps all bounds; `broken` are the bounds that it breaks.

    `tune` is the mean in the sweep, `holdout` the mean on the holdout. `behind` is the difference from the best, corrected for
    all comparisons with it; `tied` says that it is not shown to be worse. More is better in the
    difference, also for a minimized objective. `dominated_by` is a trial that is nowhere worse and somewhere better; empty on
    the Pareto front. `p_best` is the share of draws of a bootstrap by cluster in which its mean is the highest; None where it
    cannot be known.
    """

    trial_id: str
    name: str
    tune: Mean
    admitted: bool
    tied: bool = False
    behind: Mean | None = None
    holdout: Mean | None = None
    dominated_by: str = ""
    broken: tuple[str, ...] = ()
    p_best: float | None = None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Standing":
        """From the values of `to_json`."""
        parts = {key: Mean.from_json(value) if isinstance(value, Mapping) else value for key, value in content.items()}
        return cls(**parts | {"broken": tuple(content["broken"])})

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {key: value.to_json() if isinstance(value, Mean) else value for key, value in vars(self).items()}


@dataclass(frozen=True)
class Winner:
    """The best trial by mean, the recommended trial, and the trials that are not shown to be worse than the best, best first.

    `why` is a sentence on the choice. `standings` are in the order of the leaderboard. `family` is the number of comparisons
    with the best; 0 where a measured time decides, which cannot be compared question by question. `holdout` says that trials
    were measured again, `uses` is the number of uses of the holdout. `contradiction` is a sentence where the holdout does not
    confirm the choice by tune; the best of all questions is then recommended. `expected` is the mean on new questions of a
    choice among `among` trials, `before` of them of other sweeps; None where it cannot be estimated. `rule` is the rule of the
    choice, `unsettled` a cheaper trial that the questions do not decide on. Without `enough` questions `recommended` is only
    the first so far.
    """

    best: str
    recommended: str
    tied: tuple[str, ...]
    why: str
    standings: tuple[Standing, ...]
    uses: int = 0
    family: int = 0
    holdout: bool = False
    rule: Rule = field(default_factory=Rule)
    unsettled: Unsettled | None = None
    enough: bool = True
    contradiction: str = ""
    expected: Mean | None = None
    among: int = 0
    before: int = 0

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Winner":
        """From the values of `to_json`, without the rule and the unsettled trial."""
        names = ("best", "recommended", "why", "uses", "family", "holdout", "enough", "contradiction", "among", "before")
        standings = tuple(map(Standing.from_json, content["standings"]))
        expected = Mean.from_json(content["expected"]) if content["expected"] else None
        plain = {name: content[name] for name in names}
        return cls(**plain, tied=tuple(content["tied"]), standings=standings, expected=expected)

    @property
    def rival(self) -> str:
        """The trial to compare the recommended one with: the best, or else the first other one; empty without another."""
        others = [each.trial_id for each in self.standings if each.trial_id != self.recommended and each.admitted]
        return self.best if self.best != self.recommended else next(iter(others), "")

    @property
    def front(self) -> tuple[str, ...]:
        """The admitted trials that no other dominates, in the order of the leaderboard."""
        return tuple(each.trial_id for each in self.standings if each.admitted and not each.dominated_by)

    @property
    def lead(self) -> str:
        """What comes before the name of the recommended trial."""
        return "Recommended" if self.enough else "First so far"

    def expectation(self, column: str) -> str:
        """A sentence on what the choice is worth; empty where that is not estimated."""
        before = f", {self.before:,} of them of other sweeps" if self.before else ""
        among = f"out of bag, for a choice among {amount(self.among, 'trial')}{before}"
        return f"Expect {column} {with_interval(self.expected)} on new questions ({among})." if self.expected else ""

    def of(self, trial_id: str) -> Standing:
        """The standing of a trial."""
        return next(each for each in self.standings if each.trial_id == trial_id)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        named = ("rule", "unsettled", "expected")
        plain = {key: value for key, value in vars(self).items() if key not in ("standings", *named)}
        parts = {name: part.to_json() if (part := getattr(self, name)) else None for name in named}
        names = {"best_name": self.of(self.best).name, "recommended_name": self.of(self.recommended).name}
        standings = [standing.to_json() for standing in self.standings]
        return {**plain, "tied": list(self.tied), **names, **parts, "front": list(self.front), "standings": standings}


def read(experiment: str, folder: Path = Path("reports")) -> dict[str, Any]:
    """The winner in the `verdict.json` of an experiment; DataError where there is none."""
    path = folder / experiment / "verdict.json"
    try:
        content = json.loads(path.read_text("utf-8"))
        winner: Mapping[str, Any] | None = content["winner"]
    except FileNotFoundError as error:
        raise DataError(str(path), "is not there", f"run rag sweep {experiment} first") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(str(path), f"cannot be read ({error})", f"run rag sweep {experiment} again") from error
    if winner is None:
        why = " ".join(content.get("notes") or ["the sweep did not come to its end"])
        raise DataError(str(path), f"names no winner: {why}", f"fix that and run rag sweep {experiment} again")
    return dict(winner)
