"""What stands in `runtime` is in no key: a class declares it, and no config can add to it."""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from rag.config.build import RUNTIME, TARGET, Components
from rag.config.catalog import installed_folders
from rag.config.identity import without_runtime
from rag.config.servers import components_in
from rag.core.roles import runtime_names

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
