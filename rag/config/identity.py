"""The identity of a component: target, parameters, code, libraries, model. Equal identities must mean equal behaviour."""

import hashlib
import importlib.metadata
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from rag.config.source_code import Source, source_of
from rag.core.errors import ConfigError
from rag.core.memo import Once


def digest(*parts: object) -> str:
    """A sha256 of JSON values, the same on every machine; ConfigError for a value that JSON cannot hold."""
    try:
        text = _json(parts)
    except (TypeError, ValueError) as error:
        where, value = next(_odd(parts, ()), ("config", parts))
        remedy = "use text, finite numbers, lists or mappings"
        raise ConfigError(where, f"is {value!r}, which cannot be part of a key", remedy) from error
    return hashlib.sha256(text.encode()).hexdigest()


def _odd(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The parts of a value that JSON cannot hold, with their paths."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _odd(part, (*path, str(key))) if isinstance(key, str) else [(".".join(path) or "config", value)]
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _odd(part, path)
    elif isinstance(value, float) and not math.isfinite(value):
        yield ".".join(path) or "config", value


class Digests:
    """Digests of many configs that share values: an object is read once, however many configs hold it."""

    def __init__(self, read: Callable[[Any], Any] = lambda value: value) -> None:
        self._read, self._texts = read, Once()

    def __call__(self, config: Mapping[str, Any], *others: object) -> str:
        """`digest(read(config), *others)`, where `read` keeps the top-level keys."""
        texts = self.texts(config)
        rest = "".join(f", {_json(other)}" for other in others)
        return hashlib.sha256(f"[{{{', '.join(texts)}}}{rest}]".encode()).hexdigest()

    def texts(self, config: Mapping[str, Any]) -> tuple[str, ...]:
        """Its keys and values as JSON, sorted: the same for configs with the same digest; ConfigError as `digest`."""
        try:
            return tuple([self._texts(config[name], partial(self._text, name, config[name]), name) for name in sorted(config)])
        except (TypeError, ValueError):
            digest(self._read(config))  # says where the fault is
            raise

    def _text(self, name: str, value: Any) -> str:
        return f"{_json(name)}: {_json(self._read(value))}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str)


@lru_cache(maxsize=512)
def code_identity(module: str, trusted: tuple[str, ...] = ("rag",)) -> str:
    """Hash of the code in the closure of a module, and of the versions of its libraries.

    Comments, layout and docstrings do not count. ConfigError as `reached`.
    """
    sources, libraries = reached(module, trusted)
    codes = sorted((name, source.code if source else "") for name, source in sources.items())
    return digest(codes, sorted((name, library_version(name)) for name in libraries))


@lru_cache(maxsize=512)
def libraries(module: str, trusted: tuple[str, ...] = ("rag",), needed: bool = False) -> frozenset[str]:
    """The import names of the libraries that the closure of a module imports; ConfigError as `reached`. No code is hashed.

    `needed` leaves out imports that may be absent, and what only these reach.
    """
    return frozenset(reached(module, trusted, needed)[1])


def reached(module: str, trusted: tuple[str, ...], needed: bool = False) -> tuple[dict[str, "Source | None"], set[str]]:
    """A module, its packages and all trusted modules that these import, None for an absent one; the libraries that they import.

    Imports inside functions count. ConfigError where the module or an import does not exist, and for code that cannot be read.
    An import inside `try`, `if` or `with` may be absent; `needed` as in `libraries`. A name in a string is not seen.
    """
    sources: dict[str, Source | None] = {}
    libraries: set[str] = set()
    waiting = [("identity", module, False)]
    while waiting:
        importer, name, optional = waiting.pop()
        if sources.get(name):
            continue
        source = sources[name] = source_of(name)
        if source is None and not optional:
            raise ConfigError(importer, f"imports {name!r}, and there is no such module", "check its name and installation")
        package = name.rpartition(".")[0]
        waiting += [(name, package, optional)] if package else []
        for statement in source.imports if source else ():
            if needed and statement.optional:
                continue
            root = statement.module.partition(".")[0]
            if root in trusted:
                waiting += [(name, inner, statement.optional) for inner in statement.modules]
            elif root not in sys.stdlib_module_names:
                libraries.add(root)
    return sources, libraries


@lru_cache(maxsize=512)
def library_version(root: str) -> str:
    """The installed version of the distribution that an import name belongs to; empty where it is not installed."""
    try:
        return importlib.metadata.version(root)
    except importlib.metadata.PackageNotFoundError:
        holds = re.compile(rf"^{re.escape(root)}(/.*)?\.py,", re.MULTILINE)
        found = [
            f"{one.metadata['Name']}=={one.version}"
            for one, declared, files in _distributions()
            if (root in declared if declared else root in files and holds.search(files))
        ]
        return ",".join(sorted(set(found)))


@lru_cache(maxsize=1)
def _distributions() -> list[tuple[importlib.metadata.Distribution, list[str], str]]:
    """Each distribution with its declared top-level packages and, without them, its list of files.

    `importlib.metadata.packages_distributions` says the same; it parses every line of the lists and takes four times as long.
    """
    found = []
    for one in importlib.metadata.distributions():
        declared = (one.read_text("top_level.txt") or "").split()
        found.append((one, declared, "" if declared else one.read_text("RECORD") or ""))
    return found


def without_runtime(node: Any) -> Any:
    """A config without the `runtime` blocks of its components: the rest can change results."""
    if isinstance(node, Mapping):
        silent = ("runtime",) if "_target_" in node else ()
        return {key: without_runtime(value) for key, value in node.items() if key not in silent}
    return [without_runtime(value) for value in node] if isinstance(node, list | tuple) else node
