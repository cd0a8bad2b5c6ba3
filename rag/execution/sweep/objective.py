"""The objective of an experiment: what its trials are sorted by, and the bounds that a recommended trial must keep."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Floats
from rag.core.checks import check_choice
from rag.core.errors import ConfigError
from rag.evaluation.scoring import Scores

USUAL = "ndcg@10"
MEASURED = ("latency_p50_ms", "latency_p95_ms", "index_bytes", "stage_seconds", "cpu_seconds", "tokens", "cost_usd")
"""Measured values of a trial that are no metrics; less is better in all of them."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
BOUND = re.compile(rf"(?P<column>\S+?)\s*(?P<sign><=|>=|==|≤|≥)\s*(?P<limit>{NUMBER})", re.IGNORECASE)
TERM = re.compile(rf"(?:(?P<weight>{NUMBER})\s*\*\s*)?(?P<column>[^\s*<>=≤≥]+)", re.IGNORECASE)
DIRECTION = re.compile(r"(?:(?P<direction>maximize|minimize)\s+)?(?P<sum>.+)", re.DOTALL)
FORMS = "for example: maximize ndcg@10; or 0.5 * recall@5 + 0.5 * ndcg@10; with latency_p95_ms <= 200 as a second clause"


@dataclass(frozen=True)
class Term:
    """A column that is to be large, or small; `weight` is above 0 and relative to the other terms."""

    column: str
    weight: float = 1.0
    maximize: bool = True

    @property
    def signed(self) -> float:
        """The weight, negative for what is to be small."""
        return self.weight if self.maximize else -self.weight


@dataclass(frozen=True)
class Bound:
    """A limit that a column must keep; `exact` asks for the limit itself."""

    column: str
    at_most: bool
    limit: float
    exact: bool = False

    @classmethod
    def parse(cls, text: str) -> "Bound":
        """`latency_p95_ms <= 200`, `recall@5 >= 0.8`, `failed == 0`, with ≤ and ≥ too; ConfigError for anything else."""
        match = BOUND.fullmatch(str(text).strip())
        if match is None:
            raise ConfigError("bound", f"is {text!r}", "for example: latency_p95_ms <= 200, with <=, >= or ==")
        limit = float(match["limit"])
        if not math.isfinite(limit):
            raise ConfigError("bound", f"is {text!r}, which every value or no value keeps", "give a finite number")
        return cls(match["column"], match["sign"] in ("<=", "≤"), limit, match["sign"] == "==")

    def holds(self, value: float) -> bool:
        """Whether a value keeps the bound; NaN does not."""
        if self.exact:
            return value == self.limit
        return value <= self.limit if self.at_most else value >= self.limit

    @property
    def text(self) -> str:
        """The bound as it is written."""
        return f"{self.column} {'==' if self.exact else '<=' if self.at_most else '>='} {self.limit:.15g}"


@dataclass(frozen=True)
class Objective:
    """What trials are ordered by, a weighted sum of metrics or one measured value, and bounds that come before it.

    Whether a bound is kept depends on the measured value, not on its interval.
    """

    terms: tuple[Term, ...]
    bounds: tuple[Bound, ...] = ()

    @classmethod
    def parse(cls, value: str | Sequence[str], columns: Sequence[str]) -> "Objective":
        """Read one clause or several, as a list or with commas between them; `columns` are the metrics that are measured.

        `maximize ndcg@10`, `minimize latency_p95_ms`, `maximize 0.5 * recall@5 + 0.5 * ndcg@10`, `latency_p95_ms <= 200`. A
        column without a direction is maximized where more is better. Where no clause names a term it is ndcg@10, and where
        that is not measured the first column. ConfigError says what cannot be read, or is not measured.
        """
        texts = value.split(",") if isinstance(value, str) else [part for text in value for part in str(text).split(",")]
        terms: list[Term] = []
        bounds: list[Bound] = []
        for text in filter(None, (text.strip() for text in texts)):
            if re.search(r"[<>=≤≥]", text):
                bounds.append(_bound(text, columns))
            else:
                terms += _terms(text, columns)
        if not terms:
            terms = [Term(USUAL if USUAL in columns else columns[0])]
        _check(terms)
        return cls(tuple(terms), tuple(bounds))

    @property
    def column(self) -> str:
        """The column of the first term."""
        return self.terms[0].column

    @property
    def maximize(self) -> bool:
        """Whether the first term is to be large."""
        return self.terms[0].maximize

    @property
    def measured(self) -> bool:
        """Whether it is a measured value such as latency, which cannot be compared question by question."""
        return self.column in MEASURED

    @property
    def summed(self) -> bool:
        """Whether it is a sum of several columns."""
        return len(self.terms) > 1

    @property
    def sign(self) -> float:
        """The factor between a value that is better when larger and the value that is printed."""
        return 1.0 if self.summed or self.maximize else -1.0

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest value of `per_question`: metrics lie in [0, 1]."""
        weights = [term.signed for term in self.terms] if self.summed else [self.sign]
        return sum(min(weight, 0.0) for weight in weights), sum(max(weight, 0.0) for weight in weights)

    @property
    def text(self) -> str:
        """The objective with its bounds as it is printed."""
        large, small = ([term for term in self.terms if term.maximize is way] for way in (True, False))
        sums = {"maximize": large, "minimize": small}
        texts = {term: f"{term.weight:g} * {term.column}" if self.summed else term.column for term in self.terms}
        clauses = [f"{word} {' + '.join(texts[term] for term in terms)}" for word, terms in sums.items() if terms]
        return ", ".join([*clauses, *(bound.text for bound in self.bounds)])

    def per_question(self, scores: Scores) -> Floats:
        """Shape (questions,): the terms weighted and signed, higher is always better; NaN where any of them is NaN."""
        if self.measured:
            raise ValueError(f"{self.column} is not measured per question")
        places = [scores.columns.index(term.column) for term in self.terms]
        # A single term keeps its own unit: its weight changes no order.
        weights = np.array([term.signed for term in self.terms]) if self.summed else np.array([self.sign])
        total: Floats = scores.values[:, places] @ weights
        return total

    def broken_bounds(self, value: Callable[[str], float]) -> list[Bound]:
        """The bounds that a trial breaks; `value` gives its metric or measurement by column, NaN where there is none."""
        return [bound for bound in self.bounds if not bound.holds(value(bound.column))]


def _bound(text: str, columns: Sequence[str]) -> Bound:
    try:
        bound = Bound.parse(text)
    except ConfigError as error:
        raise ConfigError("objective", f"has a clause that is {text!r}", FORMS) from error
    check_choice("objective", bound.column, (*columns, *MEASURED))
    return bound


def _terms(text: str, columns: Sequence[str]) -> list[Term]:
    whole = DIRECTION.fullmatch(text)
    parts = re.split(r"\s\+\s", whole["sum"]) if whole else []
    found = [TERM.fullmatch(part.strip()) for part in parts]
    if whole is None or not all(found):
        raise ConfigError("objective", f"is {text!r}", FORMS)
    return [_term(match["column"], match["weight"], whole["direction"], columns) for match in found if match]


def _term(column: str, weight: str | None, direction: str | None, columns: Sequence[str]) -> Term:
    check_choice("objective", column, (*columns, *MEASURED))
    number = float(weight or 1)
    if not 0 < number < math.inf:
        raise ConfigError("objective", f"gives {column!r} the weight {weight}", "a weight above 0; write minimize for less")
    return Term(column, number, direction != "minimize" if direction else column not in MEASURED)


def _check(terms: Sequence[Term]) -> None:
    names = [term.column for term in terms]
    clocks = [name for name in names if name in MEASURED]
    if clocks and len(names) > 1:
        what = f"adds {clocks[0]!r} to {next((name for name in names if name != clocks[0]), clocks[0])!r}"
        remedy = f"what they measure has no common unit: make it a bound, as in {clocks[0]} <= 200"
        raise ConfigError("objective", what, remedy)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError("objective", f"names {twice!r} twice", "add the weights up")
