"""Every choice that is shipped can be built as it stands, and every experiment is made of such choices."""

import importlib
import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.config.build import RUNTIME, TARGET
from rag.config.compose import LISTS, choices, compose, hydra_ready, resolve, shipped
from rag.config.experiment import load
from rag.config.nested_choices import NESTED
from rag.config.validation import check
from rag.core.errors import ProblemsError
from rag.core.roles import INDEX_PARTS, LOADER_PARTS, ROLES, SEVERAL
from rag.execution.graph.executors import executor_of
from rag.execution.graph.plan import components_for
from rag.execution.store.store import Store

CONF = shipped("conf")
FILES = sorted(path.relative_to(CONF).with_suffix("").as_posix() for path in CONF.glob("*/**/*.yaml"))
EMPTY = ("check/none", "guard/none", "selector/none")
"""The empty list of a group of which any number may be chosen, as a choice of its own."""

LISTED = ("generator/auto",)
"""Choices that stand for another one of their group."""

COMPONENTS = [
    name for name in FILES if not name.startswith(("execute/", "helper/", "preset/")) and name not in (*EMPTY, *LISTED)
]
EXPERIMENTS = sorted(path.stem for path in shipped("experiments").glob("*.yaml"))
GIVEN = {
    "dataset/beir": ["dataset.path=collection"],
    "dataset/chroma": ["dataset.path=collection"],
    "dataset/mixed": ["data=collection"],
    "loader/mixed": ["data=collection"],
    "dataset/native": ["dataset.path=collection"],
    "dataset/squad": ["dataset.path=collection"],
    "execute/cluster": ["execute.address=tcp://127.0.0.1:8786"],
    "roster/csv": ["roster.path=roster.csv", "roster.key=code", "roster.column=id", "roster.fields={owner: owner}"],
}
"""What a choice must be given because it has no default; a new `???` that is missing here fails its test."""

WHERE_AND_HOW = (
    "device",
    "threads",
    "batch_size",
    "cache",
    "cache_mb",
    "timeout",
    "retries",
    "concurrency",
    "workers",
    "price",
)
"""Parameters that cannot change a result."""


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One Hydra for all choices, in a folder without any conf of its own."""
    before = Path.cwd()
    os.chdir(folder := tmp_path_factory.mktemp("conf"))
    (folder / "roster.csv").write_text("id,owner\nHB-1,Ada\n", encoding="utf-8")
    try:
        with hydra_ready():
            yield folder
    finally:
        os.chdir(before)


def composed(name: str) -> dict[str, Any]:
    group, _, choice = name.partition("/")
    override = f"{group}=[{choice}]" if group in LISTS else f"{group}={choice}"
    return resolve(compose([override, *GIVEN.get(name, ())]))


def node_of(name: str) -> Mapping[str, Any]:
    group, _, choice = name.partition("/")
    if group in NESTED.values() and group not in ROLES:
        return yaml.safe_load((CONF / f"{name}.yaml").read_text("utf-8").replace("${language}", "english"))
    part = composed(name)[group]
    return part[choice] if group in LISTS else part


def test_every_folder_is_a_role_and_every_role_has_a_folder() -> None:
    assert {name.partition("/")[0] for name in FILES} == {
        *ROLES,
        *LOADER_PARTS,
        *INDEX_PARTS,
        *SEVERAL,
        "execute",
        "helper",
        "preset",
    }
    assert set(GIVEN) <= set(FILES)
    assert all("/" not in name.partition("/")[2] for name in FILES)


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_choice_builds_as_it_stands(ready: Path, name: str) -> None:
    node = node_of(name)
    components = components_for(Store(str(ready / "store")))
    group = name.partition("/")[0]
    component = components.role(group, node)
    assert f"{type(component).__module__}.{type(component).__name__}" == node[TARGET]
    assert len(components.identity(node, group)) == 64


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("execute/")])
def test_every_place_to_run_can_be_had(ready: Path, name: str) -> None:
    executor_of(composed(name)["execute"])


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_parameter_is_written_out(name: str) -> None:
    content = yaml.safe_load((CONF / f"{name}.yaml").read_text("utf-8"))
    written = content[name.partition("/")[2]] if name.partition("/")[0] in LISTS else content
    module, _, target = written[TARGET].rpartition(".")
    accepted = inspect.signature(getattr(importlib.import_module(module), target)).parameters
    taken = {part.removeprefix(f"{name.partition('/')[2]}.").partition(".")[0] for part in _taken_in(content)}
    assert set(accepted) == {*taken, *written, *written.get(RUNTIME, {})} - {TARGET, RUNTIME, "defaults"}


def _taken_in(content: Mapping[str, Any]) -> Iterator[str]:
    """What a choice takes in from a file of conf/ that several choices share."""
    for name in content.get("defaults", ()):
        if isinstance(name, str) and name.endswith("@_here_"):
            yield from yaml.safe_load((CONF / f"{name[1:].partition('@')[0]}.yaml").read_text("utf-8"))
        elif isinstance(name, str) and "@" in name:
            yield name.partition("@")[2]


@pytest.mark.parametrize("group", LISTS)
def test_choices_that_stand_together_are_keyed_by_their_names(group: str) -> None:
    for choice in choices(group):
        expected = [] if f"{group}/{choice}" in EMPTY else [choice]
        keys = yaml.safe_load((CONF / group / f"{choice}.yaml").read_text("utf-8"))
        assert [key for key in keys if key != "defaults"] == expected


def test_all_choices_of_a_list_can_be_made_at_once(ready: Path) -> None:
    config = resolve(compose([f"{group}=[{','.join(choices(group))}]" for group in LISTS]))
    some = [[choice for choice in choices(group) if f"{group}/{choice}" not in EMPTY] for group in LISTS]
    assert [list(config[group]) for group in LISTS] == some


@pytest.mark.parametrize("name", COMPONENTS)
def test_what_says_where_something_runs_stands_in_runtime(name: str) -> None:
    lines = [line.split("#")[0] for line in (CONF / f"{name}.yaml").read_text("utf-8").splitlines()]
    places = [number for number, line in enumerate(lines) if line.strip() == f"{RUNTIME}:"]
    for number, line in enumerate(lines):
        if line.partition(":")[0].strip() in WHERE_AND_HOW:
            assert any(place < number for place in places), f"{name}: {line.strip()}"
            assert line.startswith("  ")


def test_the_default_wiring_is_one_that_runs(ready: Path) -> None:
    config = resolve(compose([]))
    check(config)
    executor_of(config["execute"])
    assert Path(config["dataset"]["path"]).is_dir()


PUBLIC = ["bm25", "chunking", "conversations", "embedders", "fusion", "grid", "injection", "rewriting", "terms", "windows"]
"""The experiments that ask questions of a public data set; datasets/README.md lists the same."""


@pytest.mark.parametrize("name", PUBLIC)
def test_an_experiment_over_public_data_says_what_it_needs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_DATA", raising=False)
    with pytest.raises(ProblemsError) as refused:
        load(name).trials()
    assert {problem.what for problem in refused.value.problems} == {"needs a public data set"}
    (remedy,) = {problem.remedy for problem in refused.value.problems}
    assert "export RAG_DATA=" in remedy
    assert f"`{name}`" in Path(remedy.split("; ")[1].split(" lists ")[0]).read_text("utf-8")


@pytest.mark.parametrize("name", sorted({*EXPERIMENTS} - {*PUBLIC}))
def test_no_config_holds_a_path_of_its_author(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_DATA", raising=False)
    for trial in load(name).trials():
        assert "data" not in trial.config
        assert not [text for text in texts(trial.config) if text.startswith(("../", "None"))]


def texts(value: object) -> list[str]:
    """All texts in a config."""
    if isinstance(value, dict | list):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_data_may_be_named_for_one_run() -> None:
    assert load("chunking", ["data=elsewhere"]).trials()[0].config["dataset"]["path"] == "elsewhere/chroma-a"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_made_of_what_can_be_built(here: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_DATA", str(here / "data"))
    components = components_for(Store(str(here / "store")))
    declared = load(name)
    assert declared.question.endswith("?")
    for trial in declared.trials():
        check(trial.config)
        for role in ROLES.keys() & trial.config.keys():
            nodes = trial.config[role] if role == "index" else {role: trial.config[role]}
            for key, node in nodes.items():
                components.role(role, node, key)
        for role in ("metric", "selector"):
            for name, node in trial.config[role].items():
                components.role(role, node, f"{role}.{name}")
