"""Which metrics of a gate are a judge's that nobody has held against people."""

from collections.abc import Mapping
from typing import Any

from rag.build import Components
from rag.errors import UserError
from rag.evaluate import parse_column
from rag.gate.spec import FAILED, RATIO, Gate
from rag.registry.versions import Version
from rag.roles import AssessedMetric


def advisory(gate: Gate, candidate: Version) -> frozenset[str]:
    """The columns that a judge fills of whom the bundle brings no calibration card: they warn, and decide nothing."""
    config, warned = candidate.scores.result.config, set()
    components = Components()
    for name in (*gate.columns, *(bound.column for bound in gate.bounds)):
        if name in (FAILED, RATIO):
            continue
        metric = parse_column(name, config["k"], config["metric"]).metric
        if not _trusted(metric, config, components, candidate.cards):
            warned.add(name)
    return frozenset(warned)


def _trusted(metric: str, config: Mapping[str, Any], components: Components, cards: frozenset[str]) -> bool:
    built = components.role("metric", config["metric"][metric], f"metric.{metric}")
    if not isinstance(built, AssessedMetric):
        return not getattr(built, "judge", False)
    try:
        return components.identity(config["judge"], "judge") in cards
    except UserError:
        # A judge that cannot be built here is none that this code could vouch for.
        return False
