"""The parts of a config that answers questions, a line each."""

import json
from collections.abc import Mapping
from typing import Any

from rag.config.build import TARGET
from rag.core.redaction import redacted_json
from rag.reporting.terminal.output import escape, print_pairs, shortened

OF_TRIALS = (
    *("split", "sample", "sample_seed", "history", "control", "coverage", "metrics", "metric", "judge"),
    *("dataset", "latency", "execute", "data"),
)
"""Parts of a config that are used to measure, and not to answer."""
LONGEST = 60
"""Characters of a parameter that are shown."""


def config_parts(config: Mapping[str, Any]) -> None:
    """Print the parts of a config with their parameters, without secrets."""
    parts = {role: node for role, node in redacted_json(config).items() if role not in OF_TRIALS}
    print_pairs((f"[bold]{escape(role)}[/bold]", escape(_part(node))) for role, node in parts.items())


def _part(node: Any) -> str:
    """A component as its class and parameters; several components by name."""
    if isinstance(node, Mapping) and TARGET in node:
        parameters = (f"{key}={_brief(value)}" for key, value in node.items() if key not in (TARGET, "runtime"))
        return " ".join([str(node[TARGET]).rsplit(".", 1)[-1], *parameters])
    if isinstance(node, Mapping):
        return "; ".join(f"{name}: {_part(part)}" for name, part in node.items()) or "none"
    return _brief(node)


def _brief(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False), LONGEST)
