"""The Dockerfile and the compose file, read."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::?[-?](?P<rest>[^}]*))?\}")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile as (instruction, rest), lines that go on joined."""
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    lines = (line.strip() for line in text.replace("\\\n", " ").splitlines())
    return [(line.split(None, 1)[0], " ".join(line.split()[1:])) for line in lines if line]


def said(name: str) -> list[str]:
    """What all instructions of a name say."""
    return [rest for instruction, rest in instructions() if instruction == name]


def stages() -> list[list[tuple[str, str]]]:
    """Instructions by stage; what comes before the first is left out."""
    found: list[list[tuple[str, str]]] = []
    for instruction, rest in instructions():
        if instruction == "FROM":
            found.append([])
        if found:
            found[-1].append((instruction, rest))
    return found


def composed() -> dict[str, Any]:
    """The compose file; YAML merges what its services share."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return found


def filled(value: Any, environment: Mapping[str, str]) -> Any:
    """A value of the compose file with its variables in place."""
    if isinstance(value, list):
        return [filled(one, environment) for one in value]
    return VARIABLE.sub(lambda found: environment.get(found["name"], found["rest"] or ""), value)
