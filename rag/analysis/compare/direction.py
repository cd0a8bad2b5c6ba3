"""Whether less of a metric is better, by its name."""

import re
from collections.abc import Collection, Sequence

from rag.core.errors import ConfigError

LESS = frozenset(
    """
    latency latencyms duration seconds ms elapsed time cost price tokens error errors failed failures toxicity bias hallucination
    hallucinations noise perplexity distance wer cer attack misuse leakage refusals
    """.split()
)
"""Words in the names of metrics of which less is better: those of Assay, ragas, DeepEval and MLflow, times and costs."""
WORDS = re.compile(r"[a-z]+")


def less_is_better(metric: str) -> bool:
    """Whether a name has one of the words LESS."""
    return not LESS.isdisjoint(WORDS.findall(metric.lower()))


def directions(metrics: Collection[str], given: Sequence[str] = ()) -> frozenset[str]:
    """The metrics of which less is better, by name or as `given`: `metric=lower` or `metric=higher`. ConfigError if wrong."""
    lower = {metric for metric in metrics if less_is_better(metric)}
    for text in given:
        metric, _, direction = text.rpartition("=")
        if direction not in ("lower", "higher") or metric not in metrics:
            raise ConfigError(
                f"--better {text}", "is no metric with a direction", f"METRIC=lower or =higher; {listed(metrics)}"
            )
        lower = lower | {metric} if direction == "lower" else lower - {metric}
    return frozenset(lower)


def listed(metrics: Collection[str]) -> str:
    """The metrics that there are, for a remedy."""
    return f"metrics: {', '.join(sorted(metrics)) or 'none'}"
