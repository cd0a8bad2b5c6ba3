"""Parsed contents of the Dockerfile and the compose file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?[-?](?P<rest>[^}]*))?\}")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest), with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = (line.strip() for line in text.replace("\\\n", " ").splitlines())
    return [(line.split(None, 1)[0], " ".join(line.split()[1:])) for line in lines if line]


def arguments_of(name: str) -> list[str]:
    """The arguments of all instructions of a name."""
    return [rest for instruction, rest in instructions() if instruction == name]


def stages() -> list[list[tuple[str, str]]]:
    """Instructions by stage, without those before the first stage."""
    parts: list[list[tuple[str, str]]] = []
    for instruction, rest in instructions():
        if instruction == "FROM":
            parts.append([])
        if parts:
            parts[-1].append((instruction, rest))
    return parts


def composed() -> dict[str, Any]:
    """The compose file, with the shared parts of its services merged."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return content


def filled(value: Any, environment: Mapping[str, str]) -> Any:
    """A value of the compose file with its variables filled in."""
    if isinstance(value, list):
        return [filled(part, environment) for part in value]
    return VARIABLE.sub(lambda match: environment.get(match["name"], match["rest"] or ""), value)
