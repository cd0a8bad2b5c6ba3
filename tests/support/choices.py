"""The choices of a config group, as their files in conf/ describe them."""

from pathlib import Path
from typing import Any

import yaml

from rag.config.build import Components

CONF = Path(__file__).parents[2] / "conf"


def choices(group: str) -> list[str]:
    """The names of the choices, sorted."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def node(group: str, choice: str, **changes: Any) -> dict[str, Any]:
    """A choice as its file has it, with some parameters changed; those of a list are keyed by their names."""
    content: dict[str, Any] = yaml.safe_load((CONF / group / f"{choice}.yaml").read_text("utf-8"))
    return {**content.get(choice, content), **changes}


def build(group: str, choice: str, **changes: Any) -> Any:
    """The component of a choice."""
    return Components().role(group, node(group, choice, **changes))
