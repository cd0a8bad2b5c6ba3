"""Every choice that is shipped can be built as it stands, and keeps in `runtime` what its class declares."""

import importlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.choices import FILES, content

from rag.config.build import RUNTIME, TARGET, Components
from rag.config.catalog import installed_folders
from rag.config.compose import LISTS, choices, compose, resolve, shipped
from rag.config.identity import without_runtime
from rag.config.nested_choices import NESTED, content_of
from rag.config.resolver import Resolver
from rag.config.servers import components_in
from rag.config.validation import check
from rag.core.errors import MissingExtraError
from rag.core.roles import INDEX_PARTS, LOADER_PARTS, ROLES, SEVERAL, runtime_names
from rag.execution.graph.executors import executor_of
from rag.execution.graph.plan import components_for
from rag.execution.store.store import Store

EMPTY = ("check/none", "enrich/none", "guard/none", "selector/none")
"""The empty list of a group of which any number may be chosen, as a choice of its own."""

LISTED = ("generator/auto",)
"""Choices that stand for another one of their group."""

COMPONENTS = [
    name for name in FILES if not name.startswith(("execute/", "helper/", "preset/")) and name not in (*EMPTY, *LISTED)
]
EXECUTE = [name for name in FILES if name.startswith("execute/")]
GIVEN = {
    "dataset/beir": ["dataset.path=collection"],
    "dataset/chroma": ["dataset.path=collection"],
    "dataset/mixed": ["data=collection"],
    "loader/mixed": ["data=collection"],
    "dataset/native": ["dataset.path=collection"],
    "dataset/squad": ["dataset.path=collection"],
    "execute/cluster": ["execute.address=tcp://127.0.0.1:8786"],
    "system/results": ["system.path=roster.csv"],
    "roster/csv": ["roster.path=roster.csv", "roster.key=code", "roster.column=id", "roster.fields={owner: owner}"],
}
"""What a choice must be given because it has no default; a new `???` that is missing here fails its test."""

WHERE_AND_HOW = (
    *("device", "threads", "batch_size", "cache", "cache_mb"),
    *("timeout", "retries", "concurrency", "workers", "price"),
)
"""Parameters that cannot change a result."""


@pytest.fixture
def roster(here: Path) -> None:
    (here / "roster.csv").write_text("id,owner\nHB-1,Ada\n", encoding="utf-8")


def node_of(name: str) -> Mapping[str, Any]:
    """The content of a choice in a config."""
    group, _, choice = name.partition("/")
    if group in NESTED.values() and group not in ROLES:
        found: Mapping[str, Any] = Resolver()("x", {"x": content_of(group, choice, "x"), "language": "english"})
        return found
    chosen = f"{group}=[{choice}]" if group in LISTS else f"{group}={choice}"
    config: Mapping[str, Any] = resolve(compose([chosen, *GIVEN.get(name, ())]))[group]
    return config[choice] if group in LISTS else config


def test_every_folder_is_a_role_and_every_role_has_a_folder() -> None:
    roles = {*ROLES, *LOADER_PARTS, *INDEX_PARTS, *SEVERAL, "execute", "helper", "preset"}
    assert {name.partition("/")[0] for name in FILES} == roles
    assert set(GIVEN) <= set(FILES)
    assert not [path for folder in installed_folders() for path in folder.glob("*/*/**/*.yaml")]


@pytest.mark.usefixtures("roster")
@pytest.mark.parametrize("name", COMPONENTS)
def test_every_choice_builds_as_it_stands(name: str) -> None:
    components = components_for(Store("store"))
    group, node = name.partition("/")[0], node_of(name)
    try:
        component = components.role(group, node)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert f"{type(component).__module__}.{type(component).__name__}" == node[TARGET]
    assert len(components.identity(node, group)) == 64


@pytest.mark.parametrize("name", EXECUTE)
def test_every_place_to_run_can_be_had(here: Path, name: str) -> None:
    executor_of(node_of(name))


DEFAULTED = ("index/", "fusion/", "loader/", "dataset/", "redactor/")
IN_FULL = ("questions", "keep_roles")
"""Parameters whose files write out a value that is not the default."""


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_parameter_is_written_out(name: str) -> None:
    """With its default where it has one, and `runtime` holds those that say where and how something runs."""
    read = content(name)
    written = read[name.partition("/")[2]] if name.partition("/")[0] in LISTS else read
    module, _, target = written[TARGET].rpartition(".")
    accepted = inspect.signature(getattr(importlib.import_module(module), target)).parameters
    taken = {part.removeprefix(f"{name.partition('/')[2]}.").partition(".")[0] for part in _taken_in(read)}
    assert set(accepted) == {*taken, *written, *written.get(RUNTIME, {})} - {TARGET, RUNTIME, "defaults"}
    defaulted = written | written.get(RUNTIME, {}) if name.startswith(DEFAULTED) and "mixed" not in name else {}
    for key, value in defaulted.items():
        default = accepted[key].default if key in accepted and key not in IN_FULL else inspect.Parameter.empty
        plain = "english" if value == "${language}" else tuple(value) if isinstance(value, list) else value
        assert default in (inspect.Parameter.empty, plain) or str(value).startswith("${"), key
    keys = [line.split("#")[0].partition(":")[0] for line in FILES[name].read_text("utf-8").splitlines()]
    runtime = next((number for number, key in enumerate(keys) if key.strip() == RUNTIME), len(keys))
    for number, key in enumerate(keys):
        assert key.strip() not in WHERE_AND_HOW or (number > runtime and key.startswith("  ")), key


def _taken_in(read: Mapping[str, Any]) -> Iterator[str]:
    """What a choice takes in from a file of conf/ that several choices share."""
    for name in read.get("defaults", ()):
        if isinstance(name, str) and name.endswith("@_here_"):
            yield from yaml.safe_load((shipped("conf") / f"{name[1:].partition('@')[0]}.yaml").read_text("utf-8"))
        elif isinstance(name, str) and "@" in name:
            yield name.partition("@")[2]


@pytest.mark.parametrize("group", LISTS)
def test_choices_that_stand_together_are_keyed_by_their_names(group: str) -> None:
    for choice in choices(group):
        expected = [] if f"{group}/{choice}" in EMPTY else [choice]
        keys = content(f"{group}/{choice}")
        assert [key for key in keys if key != "defaults"] == expected


def test_the_default_wiring_is_one_that_runs(here: Path) -> None:
    config = resolve(compose([]))
    check(config)
    executor_of(config["execute"])
    assert Path(config["dataset"]["path"]).is_dir()


NODES = [
    (path.relative_to(folder).as_posix(), node)
    for folder in installed_folders()
    for path in sorted(folder.glob("**/*.yaml"))
    for node in components_in(yaml.safe_load(path.read_text("utf-8")))
    if not node[TARGET].startswith("${")  # a model that another file names
]


def class_of(node: Mapping[str, Any]) -> type:
    module, _, name = node[TARGET].rpartition(".")
    found: type = getattr(importlib.import_module(module), name)
    return found


@pytest.mark.parametrize(("name", "node"), NODES, ids=[name for name, _ in NODES])
def test_presets_keep_in_runtime_what_their_classes_declare(name: str, node: Mapping[str, Any]) -> None:
    declared = runtime_names(class_of(node))
    assert set(node.get(RUNTIME) or ()) == set(declared)
    assert set(declared) <= set(inspect.signature(class_of(node)).parameters)
    assert len(set(declared)) == len(declared)


def test_presets_without_runtime_are_known_by_the_same_identity() -> None:
    for _, node in NODES:
        if node.get(RUNTIME) and "defaults" not in node and "${" not in str(node):
            parts = without_runtime(node)
            assert Components().identity(node, "x") == Components().identity(parts, "x")
