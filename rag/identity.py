"""What a component is: target, parameters, code, libraries, model. Two equal identities must mean equal behaviour."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from rag.errors import ConfigError

SILENT = ("rag.errors", "rag.roles")
"""Modules of ours whose code cannot change a result: messages and Protocols."""


def digest(*parts: object) -> str:
    """A sha256 over a sequence of JSON values, the same on every machine."""
    try:
        text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str)
    except (TypeError, ValueError) as error:
        where, value = next(_odd(parts, ()), ("config", parts))
        raise ConfigError(
            where, f"is {value!r}, which nothing can be keyed by", "text, finite numbers, lists, mappings"
        ) from error
    return hashlib.sha256(text.encode()).hexdigest()


def _odd(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What in a value is no JSON, and where."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _odd(part, (*path, str(key))) if isinstance(key, str) else [(".".join(path) or "config", value)]
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _odd(part, path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield ".".join(path) or "config", value


@lru_cache(maxsize=512)
def code_identity(module: str, trusted: tuple[str, ...] = ("rag",)) -> str:
    """Hash of a module's syntax tree, of the trusted modules that it imports, and the versions of its libraries.

    Comments, layout and docstrings do not count. Imports inside functions do.
    """
    codes: dict[str, str] = {}
    libraries: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in codes or name in SILENT:
            continue
        source, package = _source(name)
        tree = _meant(source)
        codes[name] = ast.dump(tree) if tree else hashlib.sha256(source).hexdigest()
        for imported in _imports(tree, package, trusted) if tree else ():
            root = imported.split(".")[0]
            if root in trusted:
                waiting.append(imported)
            elif root not in sys.stdlib_module_names:
                libraries.add(root)
    return digest(sorted(codes.items()), sorted((name, library_version(name)) for name in libraries))


def _source(module: str) -> tuple[bytes, str]:
    """What a module's file holds, and the package that its relative imports start from."""
    spec = _found(module)
    path = Path(spec.origin) if spec and spec.origin else None
    return path.read_bytes() if path and path.is_file() else b"", (spec.parent if spec else None) or ""


def _found(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ModuleNotFoundError, ValueError):
        # An import may be there for the case that something is installed.
        return None


def _meant(source: bytes) -> ast.Module | None:
    """The syntax tree of a source without its docstrings; None for what is compiled."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.Module, package: str, trusted: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(base, package) if node.level else base
            for alias in node.names:
                inner = f"{name}.{alias.name}"
                yield inner if name.split(".")[0] in trusted and _is_module(inner) else name


@lru_cache(maxsize=2048)
def _is_module(name: str) -> bool:
    return _found(name) is not None


@lru_cache(maxsize=512)
def library_version(root: str) -> str:
    """The installed version of the distribution that an import name belongs to; empty where it is not installed."""
    try:
        return importlib.metadata.version(root)
    except importlib.metadata.PackageNotFoundError:
        names = _distributions().get(root, ())
        return ",".join(f"{name}=={importlib.metadata.version(name)}" for name in sorted(set(names)))


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def without_runtime(node: Any) -> Any:
    """A config without its `runtime` blocks: what is left can change a result."""
    if isinstance(node, Mapping):
        return {key: without_runtime(value) for key, value in node.items() if key != "runtime"}
    return [without_runtime(value) for value in node] if isinstance(node, list | tuple) else node
