"""What is known of trials that compete, and of the one that is to be taken."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import DataError
from rag.execution.sweep.selection.rule import Rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Mean:
    """A mean, or a difference of means, with its 95 % interval; NaN for what cannot be known."""

    mean: float
    low: float = math.nan
    high: float = math.nan

    def to_json(self) -> dict[str, float | None]:
        """As JSON values; None for NaN."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Entrant:
    """A trial that competes: `values` is the objective per question, higher is better, or None where a clock decides.

    `quality` then is what the Pareto front takes for it. `reached` is the mean as people read it, `seconds` the times of
    questions that were asked one by one, the same in all trials; `latency` is in ms, `cost` in US dollars, `size` in bytes, NaN
    where not measured.
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


@dataclass(frozen=True)
class Unsettled:
    """A cheaper trial that the questions do not settle: its mean is `behind` the best's, and may be by as much as `lowest`.

    Both are 0 or less. `needed` is about how many questions would settle it, infinite where it is behind by the margin.
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
    """The objective per question of the trials that were measured again, by the id that they have in the sweep."""

    values: Mapping[str, Floats]
    cluster: Ints
    looks: int


@dataclass(frozen=True)
class Standing:
    """Where a trial stands. `admitted` says that it ended, was measured and keeps all bounds, `broken` those that it does not.

    `tune` is what the sweep measured. `behind` is the difference from the best, corrected for all that were compared with it,
    `tied` that it is not shown to be worse. `holdout` is the same as `tune` measured again, `optimism` by how much `tune`
    flatters, with the interval of a difference of independent means (Welch). More is better in both differences, whatever way
    the objective goes. `dominated_by` is a trial that is nowhere worse and somewhere better; empty on the Pareto front.
    `p_best` is the share of draws of a bootstrap by cluster in which its mean is the highest; None where it cannot be known.
    """

    trial_id: str
    name: str
    tune: Mean
    admitted: bool
    tied: bool = False
    behind: Mean | None = None
    holdout: Mean | None = None
    optimism: Mean | None = None
    dominated_by: str = ""
    broken: tuple[str, ...] = ()
    p_best: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {key: value.to_json() if isinstance(value, Mean) else value for key, value in vars(self).items()}


@dataclass(frozen=True)
class Winner:
    """The best by mean, the recommended trial, and all that are not shown to be worse than the best, best first.

    `why` says in a sentence why that one is recommended. `standings` are in the order of the leaderboard. `family` is how many
    comparisons with the best were corrected for; 0 where a clock decides and nothing can be compared question by question.
    `holdout` says that trials were measured again, `looks` how often that holdout was looked at so far, `difference` is the
    recommended trial minus the best there; None where they are the same, or were not measured. `rule` is what it was chosen
    by, `unsettled` a cheaper trial that the questions do not settle.
    """

    best: str
    recommended: str
    tied: tuple[str, ...]
    why: str
    standings: tuple[Standing, ...]
    looks: int = 0
    family: int = 0
    holdout: bool = False
    difference: Mean | None = None
    rule: Rule = field(default_factory=Rule)
    unsettled: Unsettled | None = None

    @property
    def front(self) -> tuple[str, ...]:
        """The admitted trials that no other dominates, in the order of the leaderboard."""
        return tuple(found.trial_id for found in self.standings if found.admitted and not found.dominated_by)

    @property
    def untested(self) -> bool:
        """Whether the questions are one cluster, or what decides is no score of questions: then nothing can be told apart."""
        return self.of(self.recommended).p_best is None

    def of(self, trial_id: str) -> Standing:
        """Where a trial stands."""
        return next(found for found in self.standings if found.trial_id == trial_id)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        named = ("difference", "rule", "unsettled")
        plain = {key: value for key, value in vars(self).items() if key not in ("standings", *named)}
        parts = {name: part.to_json() if (part := getattr(self, name)) else None for name in named}
        names = {"best_name": self.of(self.best).name, "recommended_name": self.of(self.recommended).name}
        told = {**plain, "tied": list(self.tied), **names, **parts, "front": list(self.front)}
        return told | {"standings": [standing.to_json() for standing in self.standings]}


def read(experiment: str, folder: Path = Path("reports")) -> dict[str, Any]:
    """The winner that the last sweep of an experiment wrote down; DataError where there is none."""
    path = folder / experiment / "verdict.json"
    try:
        content = json.loads(path.read_text("utf-8"))
        found: Mapping[str, Any] | None = content["winner"]
    except FileNotFoundError as error:
        raise DataError(str(path), "is not there", f"run rag sweep {experiment} first") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(str(path), f"cannot be read ({error})", f"run rag sweep {experiment} again") from error
    if found is None:
        why = " ".join(content.get("notes") or ["the sweep did not come to its end"])
        raise DataError(str(path), f"names no winner: {why}", f"mend that and run rag sweep {experiment} again")
    return dict(found)
