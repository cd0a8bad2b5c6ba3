"""Only classes of trusted packages are built, from parameters that their constructors know, each node once."""

import importlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Optional, Protocol, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.components.chunkers.fixed import FixedChunker
from rag.config.build import Components
from rag.config.parameters import called, fits
from rag.core.errors import ConfigError, MissingExtraError
from rag.core.roles import Embedder

FIXED = "rag.components.chunkers.fixed.FixedChunker"
MINILM = "rag.components.embedders.minilm.MiniLmEmbedder"
PARTS = """\
import os
from pathlib import Path
from subprocess import Popen
from typing import Any
from rag.core.errors import MissingExtraError
from rag.core.types import Span

class Part:
    runtime = ("x",)

    def __init__(self, size: int = 1, words: list[str] | None = None, inner: object = None, **options: object) -> None:
        self.size, self.words, self.inner, self.options = size, words, inner, options

class Spelled:
    runtime = "cache_size"

    def __init__(self, size: int = 1, cache_size: int = 1) -> None:
        self.size = size

class Several:
    def __init__(self, *sizes: int, needed: int) -> None:
        self.needed = needed

class Extra:
    def __init__(self) -> None:
        raise MissingExtraError("chunker", "nowhere", "shout")

class Raises:
    def __init__(self, how: str) -> None:
        raise {"type": TypeError("no type"), "value": ValueError("no value"), "overflow": OverflowError("too large"),
               "bug": RuntimeError("a bug")}[how]

class Hinted:
    def __init__(self, a: "Nowhere", b: int = 1) -> None:
        self.a, self.b = a, b

def function(size: int = 1) -> Part:
    os.environ["SHOUT_RAN"] = "1"
    return Part(size)

instance = Part()
borrowed = os.system
remote = Popen
generic = list[int]
lambda_ = lambda: None
"""


@pytest.fixture
def shout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Components]:
    """Components that trust a package called shout."""
    (tmp_path / "shout").mkdir()
    (tmp_path / "shout" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "shout" / "__main__.py").write_text("import os\nos.environ['SHOUT_RAN'] = '1'\nclass Main: pass\n", "utf-8")
    (tmp_path / "shout" / "parts.py").write_text(PARTS, encoding="utf-8")
    (tmp_path / "shout" / "needy.py").write_text("import package_that_is_not_there\nclass Needy: pass\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("SHOUT_RAN", raising=False)
    importlib.invalidate_caches()
    yield Components(("shout",))
    for name in [name for name in sys.modules if name.split(".")[0] == "shout"]:
        del sys.modules[name]


def refused(node: Any, components: Components | None = None, where: str = "chunker") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        (components or Components()).build(node, where)
    assert str(caught.value).startswith(where)
    assert caught.value.remedy
    return caught.value


# Trust

NAMES = """
    os.system builtins.eval builtins.__import__ eval subprocess.Popen pickle.loads joblib.load torch.load
    importlib.import_module webbrowser.open hydra.utils.instantiate
    rag.evaluation.data.golden.json.loads rag.config.build.importlib.import_module
    rag.config.build.importlib rag.core.errors.closest rag.core.errors.UserError rag.execution.store.store.Path
    rag.execution.store.store.Store rag.execution.store.store.fsspec.open rag.execution.graph.executors.ClusterExecutor
    rag.config.build.Components rag.cli.main rag.__main__.main rag.components.chunkers.__main__.X
    rag.components.chunkers.fixed.Span rag.components.chunkers.fixed.Document
    rag.components.chunkers.fixed.check_at_least rag.components.chunkers.fixed.FixedChunker.chunk
    rag.components.chunkers.own.fixed.FixedChunker rag.components.fixed.FixedChunker
    rag.components.chunkers.fixed.FixedChunker.__init__ rag.components.chunkers.fixed.FixedChunker.__class__
    rag.components.chunkers.fixed.__loader__ rag.components.chunkers.fixed.__builtins__
    rag.components.chunkers.fixed.__name__ rag.components.chunkers.fixed rag.components.chunkers.fixed.
    rag.components.loaders.folder.Path rag.components.loaders.folder.re.compile rag.nope.X
    rag.components.chunkers.nope.X rag.components.chunkers..fixed.FixedChunker
    rag/components/chunkers/fixed.FixedChunker ragged.chunkers.fixed.FixedChunker ragas.evaluate rag rag.
    rag.plugins.stores.stored_index.StoredIndex rag.plugins.mlflow_registry.agent.BundleAgent
    rag.plugins.redaction.redactors.secrets.find_secrets rag.plugins.stores.conf.indexes.qdrant.QdrantIndex
    .rag.chunkers.fixed.FixedChunker .. . FixedChunker shout.parts.Part ${oc.env:HOME} http://example.org/x.Y
"""
HOSTILE: list[Any] = [
    *NAMES.split(),
    "rag.components.chunkers.fixed\0.FixedChunker",
    " rag.components.chunkers.fixed.FixedChunker",
    *("", 5, 1.5, None, True, [], [FIXED], {}),
    {"_target_": FIXED},
    b"rag.components.chunkers.fixed.FixedChunker",
]

WATCHED = """
import builtins, json, os, sys
events = []
from rag.config.build import Components
from rag.core.errors import ConfigError
components = Components()
targets = json.loads(sys.argv[1])
loud = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.mkdir",
        "shutil.rmtree", "pickle.find_class", "socket.connect", "urllib.Request", "webbrowser.open", "ctypes.dlopen")
sys.addaudithook(lambda event, arguments: events.append(event) if event in loud else None)
before = sorted(os.listdir("."))
outside = set(sys.modules)
for target in targets:
    node = {"_target_": target}
    for node in (node, {"_target_": "rag.components.rerankers.mmr.MmrReranker", "embedder": node}):
        try:
            components.build(node, "chunker")
            events.append(f"built {target}")
        except ConfigError:
            pass
new = {name.split(".")[0] for name in set(sys.modules) - outside}
loaded = sorted(new & {"joblib", "torch", "hydra", "ragas", "webbrowser"})
print(json.dumps([events, sorted(os.listdir(".")) == before, loaded]))
"""


def test_hostile_targets_are_refused() -> None:
    for target in HOSTILE:
        error = refused({"_target_": target, "size": 5})
        assert error.where.startswith("chunker._target_"), target
        assert len(str(error)) < 300


def test_refusing_has_no_side_effects(tmp_path: Path) -> None:
    targets = json.dumps([target for target in HOSTILE if not isinstance(target, bytes)])
    result = subprocess.run([sys.executable, "-c", WATCHED, targets], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == [[], True, []]


@settings(max_examples=200, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), max_size=30) | st.from_regex(r"(rag|os|shout)(\.[a-z_]{0,8}){0,4}", fullmatch=True)
)
def test_any_target_is_a_component_of_ours_or_refused(target: str) -> None:
    refused({"_target_": target})


@pytest.mark.parametrize("key", ["_args_", "_partial_", "_recursive_", "_convert_"])
def test_what_hydra_would_obey_is_refused(shout: Components, key: str) -> None:
    for value in (True, False, None, [], "all"):
        assert refused({"_target_": FIXED, key: value}).where == f"chunker.{key}"
        # Also where the class would take any name.
        assert refused({"_target_": "shout.parts.Part", key: value}, shout).where == f"chunker.{key}"


def test_what_is_not_a_component_is_reported() -> None:
    for node in (None, 5, FIXED, [], {}, {"size": 5}, {"target": FIXED}, ()):
        assert "not a component" in refused(node).what


def test_a_package_is_trusted_only_where_the_caller_says_so(shout: Components) -> None:
    assert type(shout.build({"_target_": "shout.parts.Part"}, "chunker")).__module__ == "shout.parts"
    assert "outside the trusted packages" in refused({"_target_": "shout.parts.Part"}).what


@pytest.mark.parametrize(
    "name",
    [
        *("parts.function", "parts.instance", "parts.borrowed", "parts.remote", "parts.generic", "parts.lambda_", "parts.os"),
        *("parts.Path", "parts.os.system", "parts.Popen", "parts.Any", "parts.Span", "parts.MissingExtraError"),
        *("parts.nothing", "__main__.Main", "nothing.X", "Part", "parts", "parts.Part.size"),
    ],
)
def test_a_trusted_package_lends_no_trust(shout: Components, name: str) -> None:
    refused({"_target_": f"shout.{name}"}, shout)
    assert "SHOUT_RAN" not in os.environ


def test_a_module_that_lacks_a_package_names_it(shout: Components) -> None:
    with pytest.raises(
        MissingExtraError, match="chunker: needs the package 'package_that_is_not_there', which is not installed"
    ):
        shout.build({"_target_": "shout.needy.Needy"}, "chunker")


# Parameters


def test_a_missing_parameter_is_named() -> None:
    error = refused({"_target_": "rag.components.loaders.folder.FolderLoader"}, where="loader")
    assert (error.where, error.remedy) == ("loader.path", "set loader.path=<value>")


@pytest.mark.parametrize(
    ("value", "output"),
    [("abc", "'abc'"), (None, "null"), (True, "true"), (1.5, "1.5"), ([1], "[1]"), ({}, "{}"), ({"_target_": FIXED}, "Fixed")],
)
def test_wrong_types_are_reported_with_the_parameter(value: Any, output: str) -> None:
    error = refused({"_target_": FIXED, "size": value})
    assert error.where == "chunker.size"
    assert output in error.what
    assert error.remedy == "a whole number is needed"


def test_a_wrong_type_in_runtime_is_named_there() -> None:
    node = {"_target_": MINILM, "runtime": {"threads": "many"}}
    assert refused(node, where="embedder").where == "embedder.runtime.threads"


def test_runtime_is_a_mapping_or_empty() -> None:
    for wrong in (5, "fast", [1], True):
        assert refused({"_target_": FIXED, "runtime": wrong}).where == "chunker.runtime"
    for empty in (None, {}):
        assert Components().build({"_target_": FIXED, "size": 7, "runtime": empty}, "chunker").size == 7


INNER = {"_target_": MINILM, "runtime": {"text_limit": 5}}


@pytest.mark.parametrize(
    ("node", "where", "remedy"),
    [
        ({"_target_": FIXED, "runtime": {"size": 10}}, "chunker.runtime.size", "set chunker.size"),
        ({"_target_": FIXED, "runtime": {"nowhere": 10}}, "chunker.runtime.nowhere", "leave it out"),
        ({"_target_": FIXED, "size": 5, "runtime": {"_target_": FIXED}}, "chunker.runtime._target_", "leave one of them out"),
        ({"_target_": FIXED, "size": 5, "runtime": {1: 2}}, "chunker.runtime.1", "leave it out"),
        ({"_target_": "shout.parts.Part", "inner": INNER}, "chunker.inner.runtime.text_limit", "there is: threads"),
        ({"_target_": "shout.parts.Part", "a": [{"b": INNER}]}, "chunker.a.b.runtime.text_limit", "there is:"),
        ({"_target_": "shout.parts.Spelled", "runtime": {"siz": 2}}, "chunker.runtime.siz", "leave it out"),
        ({"_target_": "shout.parts.Spelled", "runtime": {"size": 2}}, "chunker.runtime.size", "set chunker.size"),
    ],
)
def test_only_what_a_class_declares_stands_in_runtime(shout: Components, node: Any, where: str, remedy: str) -> None:
    for ask in (shout.build, shout.identity):
        with pytest.raises(ConfigError) as caught:
            ask(node, "chunker")
        assert caught.value.where == where
        assert caught.value.remedy.startswith(remedy)


def test_a_class_of_a_plugin_declares_its_own_runtime(shout: Components) -> None:
    nodes = [{"_target_": "shout.parts.Part", "runtime": {"x": value}} for value in (1, 2)]
    assert [shout.build(node, "chunker").options for node in nodes] == [{"x": 1}, {"x": 2}]
    assert shout.identity(nodes[0], "chunker") == shout.identity(nodes[1], "chunker")


@pytest.mark.parametrize("how", ["type", "value", "overflow"])
def test_what_a_constructor_refuses_is_reported(shout: Components, how: str) -> None:
    assert "does not take these parameters: " in refused({"_target_": "shout.parts.Raises", "how": how}, shout).what


def test_bugs_of_constructors_keep_their_traceback_and_their_own_errors_pass(shout: Components) -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        shout.build({"_target_": "shout.parts.Raises", "how": "bug"}, "chunker")
    with pytest.raises(MissingExtraError, match=r"pip install"):
        shout.build({"_target_": "shout.parts.Extra"}, "chunker")


def test_open_signatures_take_what_they_say(shout: Components) -> None:
    built = shout.build({"_target_": "shout.parts.Part", "size": 2, "color": "red"}, "chunker")
    assert (built.size, built.options) == (2, {"color": "red"})
    assert shout.build({"_target_": "shout.parts.Several", "needed": 3}, "chunker").needed == 3
    assert refused({"_target_": "shout.parts.Several"}, shout).where == "chunker.needed"
    assert refused({"_target_": "shout.parts.Several", "needed": 3, "sizes": [1]}, shout).where == "chunker.sizes"
    assert shout.build({"_target_": "shout.parts.Hinted", "a": 5, "b": "text"}, "chunker").b == "text"


class Open(Protocol):
    def method(self) -> int: ...


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (int, [0, -5, 10**30], [True, 1.0, "1", None, [1]]),
        (float, [0, 1.5], [True, "1", None]),
        (bool, [True, False], [0, 1, "true", None]),
        (str, ["", "a"], [1, None, ["a"]]),
        (int | None, [None, 3], ["3", False]),
        (Optional[str], [None, "a"], [1]),  # noqa: UP045
        (Union[int, str], [1, "a"], [None, 1.5]),  # noqa: UP007
        (Literal["a", 1], ["a", 1], ["b", True, 1.0]),
        (list[int], [[], [1, 2]], [1, "12", [1, "a"], {"a": 1}, None]),
        (Sequence[str], [[], ["a"]], ["a", [1], {}]),
        (tuple[float, ...], [[1, 2.5]], [1.0, ["a"]]),
        (Mapping[str, float], [{}, {"a": 1}], [[], "a", {"a": "b"}]),
        (dict[str, list[int]], [{"a": [1]}], [{"a": 1}]),
        (Sequence[Sequence[int]], [[[1], []]], [[1]]),
        (list, [[1]], []),
        (Any, [1, "a", None, [], {}], []),
        (object, [1, "a", None], []),
        (Path, ["a", 1], []),
        (Embedder, [], ["minilm", None, 5, {"a": 1}, FixedChunker(5)]),
        (Open, [FixedChunker(5)], ["minilm", None, 5, {"a": 1}, [1]]),
        (Embedder | None, [None], ["minilm"]),
    ],
)
def test_types(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    assert [value for value in right if not fits(value, hint)] == []
    assert [value for value in wrong if fits(value, hint)] == []
    assert called(hint)


# Components in components


def test_nested_components_arrive_built_wherever_they_stand(shout: Components) -> None:
    part = {"_target_": FIXED, "size": 9}
    outer = {"_target_": "shout.parts.Part", "inner": part, "words": None, "list": [1, part], "map": {"a": {"b": part}}}
    built = shout.build(outer, "chunker")
    found = [built.inner, built.options["list"][1], built.options["map"]["a"]["b"]]
    assert all(each is found[0] for each in found)
    assert found[0].size == 9
    assert built.options["list"][0] == 1


def test_a_nested_mistake_is_named_where_it_stands(shout: Components) -> None:
    def error(part: Any) -> str:
        return refused({"_target_": "shout.parts.Part", "inner": {"_target_": "shout.parts.Part", "inner": part}}, shout).where

    assert error({"_target_": "os.system"}) == "chunker.inner.inner._target_"
    assert error({"_target_": FIXED, "siz": 5}) == "chunker.inner.inner.siz"
    assert error({"_target_": FIXED, "size": "a"}) == "chunker.inner.inner.size"


def test_inner_wraps_each_nested_component_and_no_outer_one(shout: Components) -> None:
    wrapped = Components(("shout",), lambda component, identity: (component, identity()))
    part = {"_target_": FIXED, "size": 9}
    built = wrapped.build({"_target_": "shout.parts.Part", "inner": part}, "chunker")
    assert type(built).__name__ == "Part"
    assert built.inner == (wrapped.build(part, "x"), wrapped.identity(part, "x"))


def test_the_plain_builder_wraps_nothing_and_shares_what_holds_nothing(shout: Components) -> None:
    wrapped = Components(("shout",), lambda component, identity: (component, identity()))
    part = {"_target_": FIXED, "size": 9}
    outer = {"_target_": "shout.parts.Part", "map": {"a": [part]}}
    plain, stored = wrapped.without_inner.build(outer, "chunker"), wrapped.build(outer, "chunker")
    assert plain.options["map"]["a"][0] is wrapped.build(part, "x") is wrapped.without_inner.build(part, "x")
    assert stored.options["map"]["a"] == [(wrapped.build(part, "x"), wrapped.identity(part, "x"))]
    assert wrapped.without_inner.build(outer, "elsewhere") is plain
    assert wrapped.build(outer, "elsewhere") is stored
    assert wrapped.without_inner.identity(outer, "x") == wrapped.identity(outer, "x") == shout.identity(outer, "x")


def test_the_same_node_builds_once(shout: Components) -> None:
    one = shout.build({"_target_": "shout.parts.Part", "size": 2, "words": ["a"]}, "chunker")
    assert shout.build({"words": ["a"], "_target_": "shout.parts.Part", "size": 2}, "elsewhere") is one
    assert shout.build({"_target_": "shout.parts.Part", "size": 3, "words": ["a"]}, "chunker") is not one
    assert shout.build({"_target_": "shout.parts.Part", "size": 2, "words": ["a"], "runtime": {"x": 1}}, "chunker") is not one
    assert Components(("shout",)).build({"_target_": "shout.parts.Part", "size": 2, "words": ["a"]}, "chunker") is not one


def test_other_processes_build_their_own(shout: Components) -> None:
    node = {"_target_": FIXED, "size": 4}
    components = Components()
    built = components.build(node, "chunker")
    identity = components.identity(node, "chunker")
    travelled: Components = pickle.loads(pickle.dumps(components))
    assert travelled.build(node, "chunker") is not built
    assert travelled.build(node, "chunker").size == 4
    assert travelled.identity(node, "chunker") == identity
    assert components.build(node, "chunker") is built


# Roles


def test_a_component_must_fit_its_role() -> None:
    assert Components().role("chunker", {"_target_": FIXED}).size == 800
    with pytest.raises(ConfigError, match=r"embedder: rag.components.chunkers.fixed.FixedChunker does not fit Embedder"):
        Components().role("embedder", {"_target_": FIXED})
    with pytest.raises(ConfigError, match=r"metric.recall: .* does not fit RankingMetric or AnswerMetric"):
        Components().role("metric", {"_target_": FIXED}, "metric.recall")
    Components().role("metric", {"_target_": "rag.components.metrics.recall.Recall"})
    Components().role("metric", {"_target_": "rag.components.metrics.exact_match.ExactMatch"})
