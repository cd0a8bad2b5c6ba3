"""Classes, roles and parameters of a config are checked before any component of it is built."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.config.build import ROOMS, Components
from rag.core.errors import ConfigError
from rag.core.roles import INDEX_PARTS, LOADER_PARTS, ROLES, SEVERAL, has_methods, protocols

FIXED = {"_target_": "rag.components.chunkers.fixed.FixedChunker"}
MODULE = """\
from pathlib import Path

from rag.core.roles import Embedder


class Touch:
    def __init__(self, path: str) -> None:
        Path(path).touch()


class Outer:
    def __init__(self, size: int = 1, embedder: Embedder | None = None, several: list[Embedder] | None = None) -> None:
        self.size = size

    def chunk(self, document):
        return []


class Helped:
    def __init__(self, helper: object) -> None:
        self.helper = helper

    def chunk(self, document):
        return []


class Helper:
    pass
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Components]:
    """Components that trust a package with a class that touches a file when it is built."""
    (tmp_path / "touching").mkdir()
    (tmp_path / "touching" / "__init__.py").write_text(MODULE, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield Components(("touching",))
    sys.modules.pop("touching", None)


def refused(components: Components, node: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        components.role("chunker", node)
    return caught.value


def test_every_role_has_a_package() -> None:
    assert ROOMS.keys() == {*ROLES, *LOADER_PARTS, *INDEX_PARTS, *SEVERAL}


@pytest.mark.parametrize(
    "module", ["rag.serve.database.Database", "rag.plugins.mlflow_registry.versions.Version", "rag.bundle.golden_cases.X"]
)
def test_only_packages_of_components_are_imported(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    assert refused(Components(), {"_target_": module}).where == "chunker._target_"


@pytest.mark.parametrize(
    ("around", "where"),
    [
        ({}, "chunker"),
        ({"_target_": "touching.Outer", "embedder": None}, "chunker.embedder"),
        ({"_target_": "touching.Outer", "size": None}, "chunker.size"),
        ({"_target_": "touching.Outer", "several": [None]}, "chunker.several"),
        ({"_target_": "touching.Outer", "nothing": None}, "chunker.nothing"),
        ({"_target_": "touching.Outer", "nothing": {"deeper": [None]}}, "chunker.nothing"),
        ({**FIXED, "size": None}, "chunker.size"),
        ({**FIXED, "nothing": None}, "chunker.nothing"),
    ],
)
def test_a_class_that_does_not_fit_is_not_built(plugin: Components, tmp_path: Path, around: dict[str, Any], where: str) -> None:
    touch = {"_target_": "touching.Touch", "path": str(tmp_path / "touched")}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: filled(part) for key, part in value.items()}
        return touch if value is None else [filled(part) for part in value] if isinstance(value, list) else value

    assert refused(plugin, filled(around) or touch).where == where
    assert not (tmp_path / "touched").exists()


def test_a_mistake_next_to_a_component_is_found_before_that_is_built(plugin: Components, tmp_path: Path) -> None:
    touch = {"_target_": "touching.Touch", "path": str(tmp_path / "touched")}
    assert refused(plugin, {"_target_": "touching.Helped", "helper": touch, "b": 1}).where == "chunker.b"
    assert not (tmp_path / "touched").exists()


def test_a_plug_in_may_hand_its_own_helper_to_its_component(plugin: Components) -> None:
    built = plugin.role("chunker", {"_target_": "touching.Helped", "helper": {"_target_": "touching.Helper"}})
    assert type(built.helper).__name__ == "Helper"
    nested = {"_target_": "touching.Outer", "several": [{"_target_": "rag.components.embedders.hashing.HashingEmbedder"}]}
    assert plugin.role("chunker", nested).size == 1


def test_methods_of_a_role_are_looked_for_on_the_class() -> None:
    class Half:
        def embed_documents(self) -> None: ...

    class Whole(Half):
        def embed_queries(self) -> None: ...

    assert [has_methods(one, protocol) for one in (Half, Whole) for protocol in protocols("embedder")] == [False, True]
    assert all(not has_methods(int, protocol) for role in ROOMS for protocol in protocols(role))
