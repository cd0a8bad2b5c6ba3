"""Two equal identities mean equal behaviour: what can change a result changes an identity, and nothing else does."""

import importlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.config import identity, source_code
from rag.config.build import Components
from rag.config.identity import Digests, code_identity, digest, library_version, without_runtime
from rag.config.source_code import KnownSources
from rag.core.errors import ConfigError

CHUNKER = '''\
"""Chunks."""
from rag.core.types import Document, Span

class Whole:
    """One chunk."""
    runtime = ("cache",)
    def __init__(self, size: int = 5, part: object = None, parts: object = None, cache: str = "", words: object = None) -> None:
        """Anything."""
        self.size = size

    def chunk(self, document: Document) -> list[Span]:
        return [Span(document.doc_id, 0, self.size)]
'''
TARGET = "shout.chunker.Whole"
Write = Callable[[Mapping[str, str]], None]


def forget() -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("shout", "whisper", "mylib")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    for kept in (code_identity, library_version, source_code.source_of, source_code.module_spec, identity._distributions):
        kept.cache_clear()  # type: ignore[attr-defined]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write files of packages that Python finds, as a new process would see them."""
    root = tmp_path / "site"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))

    def write(files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        forget()

    write({"shout/__init__.py": "", "shout/chunker.py": CHUNKER})
    yield write
    forget()


def code(module: str = "shout.chunker") -> str:
    return code_identity(module, ("rag", "shout"))


def identity_of(node: Any) -> str:
    return Components(("shout",)).identity(node, "chunker")


def changes(package: Write, files: Mapping[str, str], module: str = "shout.chunker") -> bool:
    before = code(module)
    package(files)
    return code(module) != before


# Code


@pytest.mark.parametrize(
    "same",
    [
        CHUNKER.replace('    """One chunk."""\n', ""),
        CHUNKER.replace('        """Anything."""\n', ""),
        CHUNKER.replace('"""Chunks."""\n', ""),
        CHUNKER + "\n\n# A comment.\n",
        CHUNKER.replace("self.size = size", "self.size = (\n            size  # of it\n        )"),
        CHUNKER.replace("\n", "\r\n"),
        "\ufeff" + CHUNKER,
    ],
)
def test_comments_docstrings_and_layout_do_not_count(package: Write, same: str) -> None:
    assert same != CHUNKER
    assert not changes(package, {"shout/chunker.py": same})


@pytest.mark.parametrize(
    "other",
    [
        CHUNKER.replace("0, self.size", "0, self.size + 1"),
        CHUNKER.replace("size: int = 5", "size: int = 6"),
        CHUNKER.replace("return [", "return [*'", 1).replace("Span(document", "', Span(document", 1),
    ],
)
def test_code_counts(package: Write, other: str) -> None:
    assert other != CHUNKER
    assert changes(package, {"shout/chunker.py": other})


@pytest.mark.parametrize(
    "statement",
    [
        *("import shout.words", "import shout.words as w", "from shout import words", "from shout.words import TABLE"),
        *("from shout.words import *", "from . import words", "from .words import TABLE"),
        *("from .words import TABLE as T", "from shout.deep import inner", "from .deep.inner import one"),
        *("import shout.deep.inner", "def later():\n    from shout.words import TABLE"),
        "class A:\n    def b(self):\n        from . import words",
        "try:\n    from .words import TABLE\nexcept ImportError:\n    TABLE = None",
        "if True:\n    import shout.words",
    ],
)
def test_own_modules_that_are_imported_count(package: Write, statement: str) -> None:
    deep = {"shout/deep/__init__.py": "", "shout/deep/inner.py": "from ..words import TABLE\none = 1\n"}
    package({"shout/chunker.py": f"{CHUNKER}\n{statement}\n", "shout/words.py": "TABLE = 1\n", **deep})
    assert not changes(package, {"shout/words.py": "TABLE = 1  # still\n"})
    assert changes(package, {"shout/words.py": "TABLE = 2\n"})


def test_what_is_not_imported_does_not_count(package: Write) -> None:
    package({"shout/words.py": "TABLE = 1\n"})
    assert not changes(package, {"shout/words.py": "TABLE = 2\n", "shout/new.py": "import shout.chunker\n"})


def test_an_import_of_a_package_counts_its_init_and_what_that_imports(package: Write) -> None:
    package({"shout/chunker.py": f"{CHUNKER}\nfrom shout import LIMIT\n", "shout/limits.py": "LIMIT = 1\n"})
    assert changes(package, {"shout/__init__.py": "from .limits import LIMIT\n"})
    assert changes(package, {"shout/limits.py": "LIMIT = 2\n"})
    assert changes(package, {"shout/__init__.py": "from .limits import LIMIT\nLIMIT += 1\n"})


def test_modules_that_import_each_other_are_no_trap(package: Write) -> None:
    package({"shout/chunker.py": f"import shout.words\n{CHUNKER}", "shout/words.py": "import shout.chunker\n"})
    assert changes(package, {"shout/words.py": "import shout.chunker\nTABLE = 1\n"})


def test_untrusted_packages_count_by_their_version_not_by_their_code(package: Write) -> None:
    info = "Metadata-Version: 2.1\nName: mylib\nVersion: {}\n"
    package(
        {"shout/chunker.py": f"def f():\n    import mylib.sub\n{CHUNKER}", "mylib/__init__.py": "", "mylib/sub.py": "A = 1\n"}
    )
    assert changes(package, {"mylib-1.0.dist-info/METADATA": info.format("1.0")})
    assert not changes(package, {"mylib/sub.py": "A = 2\n"})
    assert changes(package, {"mylib-1.0.dist-info/METADATA": info.format("1.1")})
    assert library_version("mylib") == "1.1"


def test_a_library_is_found_under_the_name_of_its_distribution(package: Write) -> None:
    info = {"metadata": "Metadata-Version: 2.1\nName: My-Lib-Binary\nVersion: {}\n", "top": "mylib\n"}
    where = "my_lib_binary-1.0.dist-info"
    package({"shout/chunker.py": f"import mylib\n{CHUNKER}", "mylib/__init__.py": "", f"{where}/top_level.txt": info["top"]})
    package({f"{where}/METADATA": info["metadata"].format("3.0")})
    assert library_version("mylib") == "My-Lib-Binary==3.0"
    assert changes(package, {f"{where}/METADATA": info["metadata"].format("3.1")})


def test_the_standard_library_does_not_count_and_absent_modules_do_no_harm(package: Write) -> None:
    assert not changes(package, {"shout/chunker.py": f"{CHUNKER}"})
    package({"shout/chunker.py": f"{CHUNKER}\ntry:\n    import shout.fast.one, nowhere\nexcept ImportError:\n    pass\n"})
    assert len(code()) == 64
    assert changes(package, {"shout/fast/__init__.py": "", "shout/fast/one.py": "A = 1\n"})
    assert library_version("nowhere") == ""


def test_compiled_modules_count_by_their_bytes(package: Write, tmp_path: Path) -> None:
    package({"shout/chunker.py": f"{CHUNKER}\ntry:\n    import shout.native\nexcept ImportError:\n    pass\n"})
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    compiled = tmp_path / "site" / "shout" / f"native{suffix}"
    compiled.write_bytes(b"\x7fELF\x00\xff one")
    forget()
    before = code()
    compiled.write_bytes(b"\x7fELF\x00\xff two")
    forget()
    assert code() != before


def test_what_is_known_of_sources_is_kept_for_the_next_process_and_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "code" / "known.json"
    first = KnownSources(path)
    assert first("imports 1", lambda: [["a", ["b"], True]]) == [["a", ["b"], True]]
    first.save()
    assert KnownSources(path)("imports 1", lambda: pytest.fail("is known")) == [["a", ["b"], True]]  # type: ignore[func-returns-value]
    for damaged in (path.read_bytes().replace(b"true", b"null"), path.read_bytes()[:40], b"\xff", b""):
        path.write_bytes(damaged)
        assert KnownSources(path)("imports 1", list) == []


def test_no_package_is_imported_to_find_its_modules(package: Write) -> None:
    package({"shout/loud/__init__.py": "raise RuntimeError", "shout/loud/words.py": "A = 1\n"})
    package({"shout/chunker.py": f"{CHUNKER}\nfrom shout.loud.words import A\n"})
    assert changes(package, {"shout/loud/words.py": "A = 2\n"})
    assert not {"shout", "shout.loud"} & set(sys.modules)


@pytest.mark.parametrize(
    "statement",
    [
        *("import shout.nowhere", "from shout.nowhere import one", "from .nowhere import one"),
        "def later():\n    import shout.nowhere",
        "class A:\n    def b(self):\n        from shout.nowhere.deep import one",
    ],
)
def test_an_import_of_a_module_that_does_not_exist_is_an_error(package: Write, statement: str) -> None:
    package({"shout/chunker.py": f"{CHUNKER}\n{statement}\n"})
    with pytest.raises(ConfigError, match="no such module") as caught:
        code()
    assert caught.value.where == "shout.chunker"
    assert "'shout.nowhere" in caught.value.what


@pytest.mark.parametrize(
    "statement",
    [
        "try:\n    from .fast import one\nexcept ImportError:\n    one = None",
        "def later():\n    with suppress(ImportError):\n        import shout.fast",
        "if TYPE_CHECKING:\n    from shout.fast import one",
        "if later:\n    def f():\n        from shout.fast import one",
    ],
)
def test_an_import_under_a_condition_may_be_absent_and_counts_when_it_is_there(package: Write, statement: str) -> None:
    package({"shout/chunker.py": f"{CHUNKER}\n{statement}\n"})
    assert len(code()) == 64
    assert changes(package, {"shout/fast.py": "one = 1\n"})
    assert changes(package, {"shout/fast.py": "one = 2\n"})


class FromMemory:
    """Finds one module, whose code only it knows."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, None, origin="memory") if name == "shout.native" else None


def test_code_that_cannot_be_read_is_an_error(package: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    package({"shout/chunker.py": f"try:\n    import shout.native\nexcept ImportError:\n    pass\n{CHUNKER}"})
    assert len(code()) == 64
    monkeypatch.setattr(sys, "meta_path", [FromMemory(), *sys.meta_path])
    forget()
    with pytest.raises(ConfigError, match=r"shout\.native: holds code that cannot be read"):
        code()


def test_the_packages_around_a_module_count(package: Write) -> None:
    package({"shout/deep/__init__.py": "", "shout/deep/inner.py": CHUNKER})
    assert changes(
        package, {"shout/deep/__init__.py": "from . import patches\n", "shout/deep/patches.py": ""}, "shout.deep.inner"
    )
    assert changes(package, {"shout/deep/patches.py": "from .inner import Whole\nWhole.size = 1\n"}, "shout.deep.inner")
    assert changes(package, {"shout/__init__.py": "LIMIT = 1\n"}, "shout.deep.inner")


def test_an_identity_is_the_same_in_another_process_in_another_folder(tmp_path: Path) -> None:
    node = {"_target_": "rag.components.chunkers.fixed.FixedChunker", "size": 300}
    outcome = "import json, sys; from rag.config.build import Components\n"
    outcome += "print(Components().identity(json.loads(sys.argv[1]), 'chunker'))"
    command = [sys.executable, "-c", outcome, json.dumps(node)]
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, env=env)
    assert out.stdout.strip() == Components().identity(node, "somewhere.else")


# Parameters


def test_parameters_count(package: Write) -> None:
    nodes: list[Any] = [
        {"_target_": TARGET},
        {"_target_": TARGET, "size": 5},
        {"_target_": TARGET, "size": 6},
        {"_target_": TARGET, "words": [1, 2]},
        {"_target_": TARGET, "words": [2, 1]},
        {"_target_": TARGET, "words": [1.0, 2]},
        {"_target_": TARGET, "words": [True, 2]},
        {"_target_": TARGET, "words": "12"},
        {"_target_": TARGET, "words": {"a": {"runtime": 1}}},
        {"_target_": TARGET, "words": {"a": {"runtime": 2}}},
        {"_target_": TARGET, "words": None},
    ]
    assert len({identity_of(node) for node in nodes}) == len(nodes)


def test_runtime_does_not_count(package: Write) -> None:
    plain = {"_target_": TARGET, "size": 5}
    found = [identity_of(plain | {"runtime": {"cache": cache}}) for cache in ("/here", "/there")]
    assert found == [identity_of(plain)] * 2
    assert identity_of(plain | {"cache": "/here"}) != identity_of(plain)


def inner(size: int, cache: str = "") -> dict[str, Any]:
    return {"_target_": TARGET, "size": size, "runtime": {"cache": cache}}


@pytest.mark.parametrize(
    "outer",
    [
        lambda part: {"part": part},
        lambda part: {"parts": [1, part]},
        lambda part: {"parts": {"a": part}},
        lambda part: {"parts": [{"deep": [part]}]},
        lambda part: {"part": {"_target_": TARGET, "part": part}},
    ],
)
def test_components_inside_a_component_count_with_all_that_they_are(package: Write, outer: Any) -> None:
    package({"shout/other.py": CHUNKER})

    def of(part: Any) -> str:
        return identity_of({"_target_": TARGET, **outer(part)})

    before = of(inner(5))
    assert of(inner(6)) != before
    assert of(inner(5, "/elsewhere")) == before
    named = inner(5) | {"_target_": "shout.other.Whole"}
    first = of(named)
    package({"shout/other.py": CHUNKER.replace("0, self", "1, self")})
    assert of(named) != first, "the code of an inner component changed"


def test_a_fingerprint_counts(package: Write) -> None:
    text = (
        CHUNKER + "\n    def fingerprint(self) -> str:\n        import os\n        return os.environ.get('SHOUT_MODEL', '')\n"
    )
    package({"shout/chunker.py": text})
    nodes: list[Any] = [{"_target_": TARGET}, {"_target_": TARGET, "parts": [{"_target_": TARGET}]}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOUT_MODEL", "a@1")
        before = [identity_of(node) for node in nodes]
        patch.setenv("SHOUT_MODEL", "a@2")
        assert [identity_of(node) == old for node, old in zip(nodes, before, strict=True)] == [False, False]
        patch.setenv("SHOUT_MODEL", "a@1")
        assert [identity_of(node) for node in nodes] == before


def test_components_lose_their_runtime_block() -> None:
    node = {"_target_": "x", "runtime": {"b": 2}, "c": [{"_target_": "y", "runtime": 3, "d": 4}]}
    assert without_runtime({"a": node}) == {"a": {"_target_": "x", "c": [{"_target_": "y", "d": 4}]}}
    for value in ({"runtime": 1}, {"_target_": "x", "extra": {"runtime": 1}}, [{"a": {"runtime": {"b": 2}}}]):
        assert without_runtime(value) == value


# Digests


def test_a_digest_is_a_sha256_of_canonical_json() -> None:
    import hashlib

    assert digest("a", {"b": 1, "a": "ü"}) == hashlib.sha256(b'["a", {"a": "\\u00fc", "b": 1}]').hexdigest()


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"embedder": {"sif": math.nan}}, "embedder.sif"),
        ({"k": [1, math.inf]}, "k"),
        ({"fusion": {"weights": {1: 2, "a": 3}}}, "fusion.weights"),
        (math.nan, "config"),
    ],
)
def test_what_is_not_json_is_reported_with_its_place(value: Any, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        digest(value)
    assert caught.value.where == where


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["runtime", "_target_"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=4), min_size=1, max_size=3), st.lists(JSON, max_size=2))
def test_digests_of_configs_that_share_values_are_digests(configs: list[dict[str, Any]], others: list[Any]) -> None:
    plain, without = Digests(), Digests(without_runtime)
    for config in [*configs, {key: value for each in configs for key, value in each.items()}]:
        assert plain(config, *others) == digest(config, *others)
        assert without(config, *others) == digest({key: without_runtime(value) for key, value in config.items()}, *others)


def test_digests_say_what_cannot_be_keyed() -> None:
    with pytest.raises(ConfigError, match=r"chunker\.size: is nan"):
        Digests()({"k": 1, "chunker": {"size": float("nan")}})
