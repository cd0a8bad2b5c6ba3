"""The source code of modules: what it imports, and a hash of what it does. No module is imported for it."""

import ast
import atexit
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from rag.core.errors import ConfigError
from rag.core.files import replace_text

MOST = 10_000
"""Values in a file of known sources; ours are 1,500."""


class KnownSources:
    """Imports and hashes of sources by digest, from earlier processes: to parse ours takes a second of a command.

    They are written when the process ends; a file that is damaged or too long is made anew.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._changed = path.absolute(), False
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            check, _, content = self._path.read_text("utf-8").partition("\n")
            known = json.loads(content) if check == _sha256(content) else {}
            self._known = known if len(known) <= MOST else {}
        atexit.register(self.save)

    def __call__(self, key: str, compute: Callable[[], Any]) -> Any:
        """The value of a key, from `compute` the first time."""
        if key not in self._known:
            self._known[key] = compute()
            self._changed = True
        return self._known[key]

    def save(self) -> None:
        """Write what is new."""
        if self._changed:
            content = json.dumps(self._known)
            with suppress(OSError):  # in a folder that is read-only each process parses
                replace_text(self._path, f"{_sha256(content)}\n{content}")


@lru_cache(maxsize=1)
def _known() -> KnownSources:
    # A syntax tree depends on Python, and what is read from it on this module. A folder of unknown origin must not hold hashes.
    folder = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "assay")
    return KnownSources(folder / f"sources-{_sha256(sys.version + Path(__file__).read_text('utf-8'))[:16]}.json")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Import:
    """An import statement: `import module` or `from module import names`; `optional` inside `try`, `if` or `with`."""

    module: str
    names: tuple[str, ...]
    optional: bool

    @cached_property
    def modules(self) -> list[str]:
        """The modules that it loads: each imported name that is a module, else the module that holds the name."""
        inner = [f"{self.module}.{name}" for name in self.names]
        return [name if module_spec(name) else self.module for name in inner] or [self.module]


class Source:
    """The code of a module in `package`."""

    def __init__(self, content: bytes, package: str) -> None:
        self.content, self.package = content, package
        self._key = hashlib.sha256(package.encode() + b"\0" + content).hexdigest()

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Its imports at any depth; none of compiled code."""
        found = _known()(f"imports {self._key}", lambda: list(_imports(self._tree, self.package)) if self._tree else [])
        return tuple(Import(module, tuple(names), optional) for module, names, optional in found)

    @cached_property
    def code(self) -> str:
        """A hash of the tree, or of the bytes of compiled code. It takes ten times as long as reading the imports."""
        return str(_known()(f"code {self._key}", self._hash))

    def _hash(self) -> str:
        return _sha256(json.dumps([ast.dump(self._tree)])) if self._tree else hashlib.sha256(self.content).hexdigest()

    @cached_property
    def _tree(self) -> ast.Module | None:
        """Its syntax tree without docstrings, None for compiled code."""
        return _tree_without_docstrings(self.content)


@lru_cache(maxsize=2048)
def source_of(module: str) -> Source | None:
    """The code of a module, None where there is none; ConfigError where it cannot be read."""
    spec = module_spec(module)
    return Source(_content(module, spec), spec.parent or "") if spec else None


def _content(module: str, spec: ModuleSpec) -> bytes:
    if spec.origin is None:
        return b""  # a folder without __init__.py
    try:
        return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]
    except (OSError, AttributeError) as error:
        raise ConfigError(module, f"holds code that cannot be read: {error}", "install it as files") from error


@lru_cache(maxsize=4096)
def module_spec(module: str) -> ModuleSpec | None:
    """Where a module is, None where there is none. `importlib.util.find_spec` would import its packages."""
    package = module.rpartition(".")[0]
    if not package:
        with suppress(ModuleNotFoundError, ValueError):
            return importlib.util.find_spec(module)
        return None
    above = module_spec(package)
    places = above.submodule_search_locations if above else None
    if places is None:
        return None
    return next(filter(None, (finder.find_spec(module, places) for finder in sys.meta_path)), None)


def _tree_without_docstrings(source: bytes) -> ast.Module | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
        waiting += _inner(node)
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.Module, package: str) -> Iterator[tuple[str, list[str], bool]]:
    """The module, the names and whether it may be absent, of each import statement."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, optional = waiting.pop()
        optional = optional or isinstance(node, ast.Try | ast.TryStar | ast.If | ast.With)
        if isinstance(node, ast.Import):
            yield from ((alias.name, [], optional) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            module = importlib.util.resolve_name(base, package) if node.level else base
            yield module, [alias.name for alias in node.names], optional
        else:
            waiting += [(part, optional) for part in _inner(node)]


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a syntax tree that can hold statements, and statements: expressions are most of a tree."""
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, name, ())
