"""Which metrics of a gate are a judge's that nobody has held against people."""

from collections.abc import Mapping
from typing import Any

from rag.analysis.gate.spec import FAILED, RATIO, Gate
from rag.bundle.presets import components_in
from rag.config.build import TARGET, Components, folder_of
from rag.config.compose import plugins
from rag.core.errors import DataError, UserError
from rag.core.roles import AssessedMetric
from rag.evaluation.scoring import parse_column
from rag.tracking.registry.versions import Version


def advisory(gate: Gate, candidate: Version) -> frozenset[str]:
    """The columns that a judge fills of whom the bundle brings no calibration card: they warn, and decide nothing.

    DataError for scores that do not say what they were made by.
    """
    columns = [name for name in (*gate.columns, *(bound.column for bound in gate.bounds)) if name not in (FAILED, RATIO)]
    config, components = candidate.scores.result.config, Components(plugins())
    try:
        metrics = {name: parse_column(name, config["k"], config["metric"]).metric for name in columns}
        return frozenset(name for name, metric in metrics.items() if not _trusted(metric, config, components, candidate.cards))
    except (LookupError, TypeError, AttributeError) as error:
        what = f"holds scores without the config of their metrics ({error!r})"
        raise DataError(candidate.where, what, "export its trial anew, and register that") from error


def _trusted(metric: str, config: Mapping[str, Any], components: Components, cards: frozenset[str]) -> bool:
    built = components.role("metric", _looked_at(config["metric"][metric], components, "metric"), f"metric.{metric}")
    if not isinstance(built, AssessedMetric):
        return not getattr(built, "judge", False)
    try:
        return components.identity(_looked_at(config["judge"], components, "judge"), "judge") in cards
    except UserError:
        # A judge that cannot be built here is none that this code could vouch for.
        return False


def _looked_at(node: Any, components: Components, where: str) -> Any:
    """A node of a stranger, if all that it would build are components; DataError if not."""
    for inner in components_in(node):
        target = str(inner[TARGET])
        package, folder = target.partition(".")[0], folder_of(target.rpartition(".")[0])
        if package not in components.trusted or (package == "rag" and not folder):
            raise DataError(f"{where}.{TARGET}", f"is {inner[TARGET]!r}, which is no component", "export its trial anew")
    return node
