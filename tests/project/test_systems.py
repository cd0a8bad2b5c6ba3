"""The tables of the published designs: complete, and everything that they name exists."""

import os
import re
import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from rag.cli import app
from rag.config import compose, listing
from rag.config.catalog import choices, groups
from rag.reporting.terminal.chat import COMMANDS
from rag.serve import app as serving
from rag.serve.routes import documents, openai, questions

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))
ROWS, LISTED, SYSTEMS, STATUSES = (GENERATE[name] for name in ("rows", "listed", "SYSTEMS", "STATUSES"))
ROOT_COMMAND = typer.main.get_command(app)
SUFFIXES = ("py", "yaml", "md", "json", "toml", "js", "css", "html", "yml")
OVERRIDE = re.compile(r"([a-z_]+(?:\.\w+)*)(?:=(.+))?")


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_table_names_exists(name: str) -> None:
    wrong = [item for row in ROWS(name) for item in LISTED(row["where"]) if not exists(item)]
    assert not wrong
    assert not [item for row in ROWS(name) for item in LISTED(row["test"]) if not is_test(item)]


def exists(item: str) -> bool:
    """Whether a path, verb, route, command of a chat, override or environment variable exists."""
    if re.fullmatch(r"[\w-]+(/[\w.-]+)*\.\w+", item) and "=" not in item and item.rpartition(".")[2] in SUFFIXES:
        return (ROOT / item).is_file()
    if item.startswith("rag "):
        return is_verb(item.split()[1:])
    if found := re.fullmatch(r"(GET|POST|DELETE) (/\S*)", item):
        return found.groups() in served()
    if item.startswith("/"):
        return item in COMMANDS
    if re.fullmatch(r"[A-Z][A-Z_]+", item):
        return any(
            f"`{item}`" in (ROOT / "docs" / page).read_text("utf-8") for page in ("reference/environment.md", "serving.md")
        )
    return all((found := OVERRIDE.fullmatch(part)) and is_override(*found.groups()) for part in item.split())


def is_test(item: str) -> bool:
    path, _, function = item.partition("::")
    file = ROOT / path
    return path.startswith("tests/") and file.is_file() and (not function or f"def {function}(" in text(file))


@cache
def text(file: Path) -> str:
    return file.read_text("utf-8")


def is_verb(words: list[str]) -> bool:
    command: Any = ROOT_COMMAND
    for word in words:
        if word.startswith("-"):
            run = getattr(command, "commands", {}).get("run", command)
            return any(word in option.opts for option in run.params)
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return False
    return True


@cache
def served() -> set[tuple[str, str]]:
    routers = [module.router for module in (serving, documents, openai, questions)]
    own = {(method, route.path) for router in routers for route in router.routes for method in route.methods}
    return own | {("GET", "/metrics"), ("GET", "/openapi.json")}


def is_override(key: str, value: str | None) -> bool:
    """Whether a key exists and, of a group, its choices."""
    group = key.partition(".")[0]
    if group not in known_groups():
        return key in values()
    if key != group:
        return key in keys(group)
    return value is not None and set(value.strip("[]").split(",")) <= set(choices(group))


@cache
def known_groups() -> set[str]:
    return set(groups())


@cache
def values() -> set[str]:
    return {each.key for each in listing.values()}


@cache
def keys(group: str) -> set[str]:
    return {each.key for name in choices(group) for each in listing.parameters(listing.choice(group, name))}


@pytest.mark.parametrize("name", SYSTEMS)
def test_values_are_those_of_the_preset(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compose, "stand_ins", lambda declared, chosen: ([], []))
    for variable in (name for name in os.environ if name.endswith(("_API_KEY", "_MODEL"))):
        monkeypatch.delenv(variable)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with compose.composing():
        config = compose.resolve(compose.compose([f"preset={name}"]))
    table = [row for row in ROWS("values") if row["system"] == name]
    assert len(table) > 5
    for row in table:
        value: Any = config
        for part in row["key"].split("."):
            value = value[part]
        if isinstance(value, dict):
            value = value["_target_"].rpartition(".")[2] if "_target_" in value else list(value)
        assert value == yaml.safe_load(row["preset"]), row
        assert row["why"] or row["design"].split(",")[0] == row["preset"], row
