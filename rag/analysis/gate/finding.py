"""A difference with its interval → PASS, FAIL or INCONCLUSIVE, in words."""

import math
from dataclasses import dataclass
from typing import Final, Literal

PASS: Final = "PASS"  # noqa: S105
FAIL: Final = "FAIL"
INCONCLUSIVE: Final = "INCONCLUSIVE"
Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]
INSIDE = "worse, but inside the margin"
LEAST = 10
SLACK = 1e-9


@dataclass(frozen=True)
class Finding:
    """A verdict, the reason in words, and the number of questions that would settle an open verdict, if any number would."""

    verdict: Verdict
    why: str
    needed: int | None = None


def verdict_of(interval: tuple[float, float, float], margin: float, n: int, clusters: int, trusted: bool) -> Finding:
    """The verdict on a difference with its two ends; `trusted` is true if there are enough clusters to pass.

    Half-widths shrink with the square root of the number of questions. An open verdict is settled when the half-width is below
    the loss (FAIL) or below the distance to the margin (PASS).
    """
    difference, low, high = interval
    if n == 0:
        return Finding(INCONCLUSIVE, "no question has a value")
    if high < 0 and low < -margin - SLACK:
        return Finding(FAIL, "worse, and more than the margin may be lost")
    settled = needed_for(interval, margin, n)
    if not trusted:
        needed = settled and max(math.ceil(LEAST * n / clusters), settled)
        questions = "1 question" if n == 1 else f"{n} questions"
        grouped = "" if clusters == n else f" in {clusters} cluster{'' if clusters == 1 else 's'}"
        return Finding(INCONCLUSIVE, f"too few questions: {questions}{grouped}, and {LEAST} clusters are the least", needed)
    if math.isnan(low) or low >= -margin - SLACK:
        still = "better" if low > 0 else "inside the margin" if difference else "no change"
        return Finding(PASS, INSIDE if high < 0 else still)
    return Finding(INCONCLUSIVE, "may be worse by more than the margin, or not", settled)


def needed_for(interval: tuple[float, float, float], margin: float, n: int) -> int | None:
    """The number of questions that makes an interval narrow enough; None if no number does, or if nothing varied."""
    difference, low, high = interval
    half = max(difference - low, high - difference)
    reach = max(-difference, difference + margin)
    if not half > SLACK or reach <= SLACK:
        return None
    return max(n + 1, math.ceil(n * (half / reach) ** 2 - SLACK))
