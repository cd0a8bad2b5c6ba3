"""The files of `conf/` that make a config, in the order in which they are merged: Hydra's defaults lists.

A file names others in `defaults`: `- group: choice`, `- group: [a, b]`, `- /group/choice@key`, `- override /group: choice`. Its
own content stands where the list has `_self_`, else behind all others. An override, of the command line or of a file, replaces
the choice of an entry before it.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.config.catalog import choices, first
from rag.config.yaml_files import YamlFile, check_interpolations, read
from rag.core.errors import ConfigError, closest

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

PROVIDERS = "first_with_key"
"""The key of a file in `conf/` that stands for other choices of its group, each with the variables of its key or server."""
SELF, GLOBAL = "_self_", "_global_"
HEADER = re.compile(r"\s*#\s*@package\s+(\S+)\s*$")
GROUPED = re.compile(r"(?P<words>(?:(?:optional|override) )*)(?P<group>[^\s@]+)(?:@(?P<package>\S+))?")
Part = tuple[Mapping[str, Any], str]
"""The content of a file, and the key below which it is merged, such as `policy.generator`; empty for the root."""


@dataclass(frozen=True)
class Entry:
    """An entry of a defaults list: choices of a `group`, or the file `name` where `grouped` is False."""

    name: str
    value: Any = None
    package: str | None = None
    grouped: bool = True
    override: bool = False
    optional: bool = False

    def path(self, base: str) -> str:
        """The group or the file below `conf/`; `base` is the folder of the file that names it."""
        return self.name.removeprefix("/") if self.name.startswith("/") or not base else f"{base}/{self.name}"

    def key(self, base: str, within: str) -> str:
        """The group, with its package where that is not the usual one: what an override names."""
        group = self.path(base)
        package = _package(within, self.package, self.name.removeprefix("/"))
        return group if package == group.replace("/", ".") else f"{group}@{package or GLOBAL}"


@dataclass(frozen=True)
class Source:
    """A file of `conf/`: its own content, its package header, and its defaults list."""

    file: YamlFile
    content: Mapping[str, Any]
    header: str | None
    defaults: tuple[Entry, ...]


@lru_cache(maxsize=1024)
def _source(file: YamlFile) -> Source:
    check_interpolations(file)
    content = dict(file.mapping)
    listed = content.pop("defaults", [])
    if not isinstance(listed, list):
        raise ConfigError(f"{file.path}: defaults", f"is {listed!r}", "write a list, such as `- chunker: fixed`")
    found = HEADER.match(next((line for line in file.text.splitlines() if line.strip()), ""))
    header = f"{GLOBAL}.{found[1].removeprefix(GLOBAL).lstrip('.')}".rstrip(".") if found else None
    return Source(file, content, header, tuple(_read_entry(file.path, item) for item in listed))


def _read_entry(path: Path, item: Any) -> Entry:
    """An item of a defaults list; ConfigError for another form."""
    (key, value), *others = item.items() if isinstance(item, dict) and item else ((item, None),)
    found = GROUPED.fullmatch(key) if isinstance(key, str) and not others else None
    grouped = isinstance(item, dict)
    named = [value] if value is None or isinstance(value, str) else value if isinstance(value, list) else [0]
    if not found or not all(isinstance(name, str | None) and "${" not in str(name) for name in named):
        form = "write `- group: choice`, `- group: [a, b]`, `- /file@key`, `- override /group: choice` or `- _self_`"
        raise ConfigError(f"{path}: defaults", f"holds {item!r}", form)
    package = "" if found["package"] == "_here_" else found["package"]
    return Entry(found["group"], value, package, grouped, "override" in found["words"], "optional" in found["words"])


def _package(within: str, package: str | None, path: str) -> str:
    """The whole package of a file: its own, or that of its folder, below the package of the file that names it."""
    own = path.replace("/", ".") if package is None else package
    whole = ".".join(filter(None, (within, own)))
    return whole.rpartition(GLOBAL)[2].lstrip(".")


@dataclass
class Expansion:
    """One reading of all defaults lists, from `config` on, under choices of groups by the command line; `load` reads a file."""

    load: "Callable[[str], Source | None]"
    chosen: dict[str, Any] = field(default_factory=dict)
    named_in: dict[str, Path] = field(default_factory=dict)
    added: list[Entry] = field(default_factory=list)
    removed: dict[str, str | None] = field(default_factory=dict)
    known: dict[str, str | None] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, overrides: "Sequence[Override]", load: "Callable[[str], Source | None]") -> "Expansion":
        """An expansion under overrides that choose, add (`+group=`) or remove (`~group`) choices."""
        made = cls(load)
        for override in overrides:
            key = str(override.get_key_element()).lstrip("+~")
            if override.is_delete():
                made.removed[key] = override.value()
            elif override.is_force_add():
                raise ConfigError(str(override.input_line), "adds a choice of a group", f"write {key}=<choice>")
            elif override.is_add():
                made.added.append(Entry(f"/{override.key_or_group}", override.value(), override.package))
            else:
                made.chosen[key] = override.value()
        return made

    def parts(self) -> list[Part]:
        """The contents in the order in which they are merged; ConfigError for a choice or an entry that does not exist."""
        parts = list(self._file("config", "", None, True))
        if unused := next((key for key in (*self.chosen.keys() - self.used, *self.removed)), None):
            if unused in self.named_in:
                what = f"overrides {unused}, and no defaults list has an entry of this name before it"
                raise ConfigError(f"{self.named_in[unused]}: defaults", what, "write the entry before it, or leave it out")
            known = {name for content, package in parts for name in ([package.partition(".")[0]] if package else content)}
            remedy = closest(unused, map(str, known))
            raise ConfigError(unused, f"there is no {unused!r} in the wiring", f"{remedy}; a new key takes a +")
        return parts

    def _file(
        self, name: str, within: str, package: str | None, primary: bool = False, optional: bool = False
    ) -> Iterator[Part]:
        """The contents of a file and of those that it names."""
        base = name.rpartition("/")[0]
        source = self.load(name)
        if source is None:
            if optional:
                return
            wanted = name.rpartition("/")[2]
            raise ConfigError(base or name, f"there is no choice {wanted!r}", closest(wanted, choices(base)))
        own = package if package is not None else source.header
        whole = _package(within, own, base if own is None else "")
        entries = [*source.defaults, *(self.added if primary else ())]
        self._note_overrides(source, entries[: len(source.defaults)], base, whole)
        lists: list[list[Part]] = [] if any(entry.name == SELF for entry in entries) else [[(source.content, whole)]]
        for entry in reversed(entries):
            if entry.name == SELF:
                lists.append([(source.content, whole)])
            elif not entry.override:
                lists.append(list(self._entry(entry, base, whole)))
        yield from (part for parts in reversed(lists) for part in parts)

    def _note_overrides(self, source: Source, entries: Sequence[Entry], base: str, whole: str) -> None:
        """Note the overrides of a file, which count where no other chose before; ConfigError for a wrong order."""
        numbers = [number for number, entry in enumerate(entries) if entry.override]
        plain = [number for number, entry in enumerate(entries) if not entry.override and entry.name != SELF]
        if sum(entry.name == SELF for entry in entries) > 1 or (numbers and plain and plain[-1] > numbers[0]):
            what = "has `_self_` twice, or an entry behind an override"
            raise ConfigError(f"{source.file.path}: defaults", what, "write overrides behind all other entries")
        for entry in (entries[number] for number in numbers):
            key = entry.key(base, whole)
            if key not in self.chosen:
                self.chosen[key], self.named_in[key] = entry.value, source.file.path

    def _entry(self, entry: Entry, base: str, whole: str) -> Iterator[Part]:
        path = entry.path(base)
        if not entry.grouped:
            folder = path.rpartition("/")[0] if entry.name.startswith("/") else entry.name.rpartition("/")[0]
            package = entry.package if entry.package is not None or self._headed(path) else folder.replace("/", ".")
            yield from self._file(path, whole, package, optional=entry.optional)
            return
        key = entry.key(base, whole)
        value = self.chosen.get(key, entry.value)
        self.used.add(key)
        if key in self.removed and self.removed[key] in (None, value):
            del self.removed[key]
            return
        if not isinstance(value, list):
            if key in self.known:
                raise ConfigError(key, f"is chosen already: {self.known[key]}", f"write {key}=<choice>, without +")
            self.known[key] = value
        if value == "???":
            raise ConfigError(key, "has no value yet", f"give it: {key}=<choice>")
        group = entry.name.removeprefix("/").replace("/", ".")
        for name in value if isinstance(value, list) else [] if value is None else [value]:
            package = entry.package if entry.package is not None or self._headed(f"{path}/{name}") else group
            yield from self._file(f"{path}/{name}", whole, package, optional=entry.optional)

    def _headed(self, name: str) -> bool:
        source = self.load(name)
        return bool(source and source.header)


def load(name: str) -> Source | None:
    """A file of `conf/` such as `chunker/fixed`, or the provider that it stands for here; None where there is none."""
    path = first(name)
    if path is None:
        return None
    source = _source(read(path))
    if PROVIDERS not in source.content:
        return source
    group = name.rpartition("/")[0]
    return load(f"{group}/{_provider(group, source.content)}")


def _provider(group: str, listed: Mapping[str, Any]) -> str:
    """The first choice of a group whose key or server is set; ConfigError without any."""
    if found := next((name for name, variables in providers(listed).items() if any(map(is_set, variables))), None):
        return found
    names = [name for variables in providers(listed).values() for name in variables]
    what = f"is to be a provider with a key or a server, and none is set of {', '.join(names)}"
    raise ConfigError(group, what, f"export one of them, or write it into .env; {listed['otherwise']}")


def providers(listed: Mapping[str, Any]) -> dict[str, list[str]]:
    """Each choice that a file stands for, with the variables of its key and of its server."""
    return {str(name): [each] if isinstance(each, str) else list(each) for name, each in listed.get(PROVIDERS, {}).items()}


def is_set(variable: str) -> bool:
    """Whether a variable of the environment has a value."""
    return bool(os.environ.get(variable, "").strip())
