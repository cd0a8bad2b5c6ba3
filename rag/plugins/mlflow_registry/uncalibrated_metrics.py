"""Metrics of a gate whose judge has no calibration against people."""

from collections.abc import Mapping
from typing import Any

from rag.analysis.gate.spec import FAILED, RATIO, Gate
from rag.config.build import TARGET, Components, folder_of
from rag.config.compose import plugins
from rag.config.servers import components_in
from rag.core.errors import DataError, UserError
from rag.core.roles import AssessedMetric
from rag.evaluation.scoring import parse_column
from rag.execution.judges.calibration import key_of, task_of
from rag.plugins.mlflow_registry.versions import Version


def advisory(gate: Gate, candidate: Version) -> frozenset[str]:
    """The columns of judges for which the bundle has no calibration card: they warn, and do not decide.

    DataError for scores without the config of their metrics.
    """
    columns = [name for name in (*gate.columns, *(bound.column for bound in gate.bounds)) if name not in (FAILED, RATIO)]
    config, components = candidate.scores.result.config, Components(plugins())
    try:
        metrics = {name: parse_column(name, config["k"], config["metric"]).metric for name in columns}
        return frozenset(name for name, metric in metrics.items() if not _trusted(metric, config, components, candidate.cards))
    except (LookupError, TypeError, AttributeError) as error:
        what = f"holds scores without the config of their metrics ({error!r})"
        raise DataError(candidate.where, what, "export its trial again, and register that") from error


def _trusted(metric: str, config: Mapping[str, Any], components: Components, cards: frozenset[str]) -> bool:
    built = components.role("metric", _checked_node(config["metric"][metric], components, "metric"), f"metric.{metric}")
    if not isinstance(built, AssessedMetric):
        return not getattr(built, "judge", False)
    try:
        identity = components.identity(_checked_node(config["judge"], components, "judge"), "judge")
        return key_of(identity, task_of(built)) in cards
    except UserError:
        # A judge that cannot be built here has no card that could be checked.
        return False


def _checked_node(node: Any, components: Components, where: str) -> Any:
    """An untrusted node, if all classes in it are components; DataError if not."""
    for inner in components_in(node):
        target = str(inner[TARGET])
        package, folder = target.partition(".")[0], folder_of(target.rpartition(".")[0])
        if package not in components.trusted or (package == "rag" and not folder):
            raise DataError(f"{where}.{TARGET}", f"is {inner[TARGET]!r}, which is not a component", "export its trial again")
    return node
