"""Fields that a config declares, and the sources of their values: metadata, the title, and patterns of RE2."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rag.components.enrichers.drafts import Draft, Stated
from rag.core.checks import check_choice
from rag.core.documents import Value
from rag.core.errors import ConfigError, closest
from rag.core.field_values import ITEMS, UnfitError, fitted
from rag.core.record_sets import Field, FieldType
from rag.core.text.re2_patterns import compiled

WHERE = "enrich.fields"
ROSTER = "roster"
"""The source of fields that a roster fills."""
KEYS = ("name", "type", "description", "allowed", "unit", "source")
SOURCE_KEYS = ("metadata", "pattern", "in", "value")
PARTS = ("text", "beginning", "title", "headings", "name")
"""What a pattern reads: the text, its part up to the second heading, the title, every heading, or the name of the document."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Source:
    """Where a value may be: a key of metadata, a pattern in a part of the document, or neither, for a `value` of all."""

    key: str = ""
    pattern: Any = None
    part: str = "text"
    value: Value | None = None

    def read(self, draft: Draft, several: bool) -> Stated | None:
        """What the document states there; None for nothing. With `several` it is a list of all matches."""
        if self.pattern is None:
            value = draft.document.metadata.get(self.key) if self.key else self.value
            return None if value in (None, "") else Stated(value)
        found: list[Stated] = []
        for start, text in draft.part(self.part):
            for match in self.pattern.finditer(text):
                group = 1 if self.pattern.groups else 0
                if self.value is not None or (match[group] or "").strip():
                    first, last = match.span(group)
                    place = None if start is None else (start + first, start + last)
                    found.append(Stated(match[group] if self.value is None else self.value, place))
                if found and (not several or len(found) > ITEMS):
                    break
        return found[0].joined(found[1:]) if several and found else next(iter(found), None)


@dataclass(frozen=True)
class DeclaredField:
    """A field with its sources, in the order in which they are read; a roster fills it where `of_roster` is True."""

    field: Field
    sources: tuple[Source, ...] = ()
    of_roster: bool = False

    def fill(self, draft: Draft) -> None:
        """Write the first value that fits the field into a draft, or else the reason why the first one does not."""
        for source in self.sources:
            stated = source.read(draft, self.field.type == "list")
            if stated is None:
                continue
            try:
                draft.state(self.field.name, fitted(self.field, stated.value), stated.place)
                return
            except UnfitError as error:
                draft.failures.setdefault(self.field.name, str(error))


def declared(fields: Sequence[Mapping[str, Any]]) -> tuple[DeclaredField, ...]:
    """The fields of a config; ConfigError for a key, type, source or pattern that is not valid, and for a repeated name."""
    if not isinstance(fields, list | tuple) or not fields:
        raise ConfigError(WHERE, f"is {fields!r}", "list the fields: [{name: status, source: [{metadata: status}]}]")
    found = tuple(_field(content, f"{WHERE}.{number}") for number, content in enumerate(fields))
    names = [each.field.name.casefold() for each in found]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ConfigError(f"{WHERE}.{number}.name", f"{name!r} is declared twice", "keep one, with all its sources")
    return found


def _field(content: object, where: str) -> DeclaredField:
    if not isinstance(content, Mapping):
        raise ConfigError(where, f"is {content!r}", "write {name: status, source: [{metadata: status}]}")
    _check_keys(content, KEYS, where)
    name, kind = content.get("name"), content.get("type", "text")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"{where}.name", f"is {name!r}", "a letter, then letters, digits and _, 64 at most")
    check_choice(f"{where}.type", kind, get_args(FieldType))
    allowed = content.get("allowed", ())
    if isinstance(allowed, str) or not all(isinstance(word, str) and word.strip() for word in allowed):
        raise ConfigError(f"{where}.allowed", f"is {allowed!r}", "list texts; put yes, no and numbers in quotes")
    if allowed and kind not in ("text", "list"):
        raise ConfigError(f"{where}.allowed", f"is given for a {kind}", "only texts and lists have allowed values")
    texts = (str(content.get(key, "")) for key in ("description", "unit"))
    field = Field(name, kind, next(texts), tuple(allowed), next(texts))
    sources = content.get("source", ())
    if sources == ROSTER:
        return DeclaredField(field, of_roster=True)
    listed = [sources] if isinstance(sources, Mapping) else sources
    if isinstance(listed, str):
        raise ConfigError(f"{where}.source", f"is {listed!r}", f"list sources such as {{metadata: status}}, or write {ROSTER}")
    return DeclaredField(field, tuple(_source(each, field, f"{where}.source.{at}") for at, each in enumerate(listed)))


def _source(content: object, field: Field, where: str) -> Source:
    if not isinstance(content, Mapping) or not content:
        raise ConfigError(where, f"is {content!r}", "write {metadata: status} or {pattern: 'Status: (.+)'}")
    _check_keys(content, SOURCE_KEYS, where)
    value, key, pattern = content.get("value"), content.get("metadata"), content.get("pattern")
    if "metadata" in content and (len(content) > 1 or not isinstance(key, str)):
        raise ConfigError(where, f"is {dict(content)!r}", "metadata is a key alone, without pattern, in or value")
    check_choice(f"{where}.in", content.get("in", PARTS[0]), PARTS)
    if value is not None:
        try:
            fitted(field, value)
        except UnfitError as error:
            raise ConfigError(f"{where}.value", str(error), f"a value of the type {field.type}") from error
    found = compiled(pattern, f"{where}.pattern") if "pattern" in content else None
    if found is not None and found.groups != 1 and not (value is not None and not found.groups):
        raise ConfigError(f"{where}.pattern", f"has {found.groups} groups", "put the value in one ( ), others in (?: )")
    if found is None and ("in" in content or (key is None and value is None)):
        raise ConfigError(where, "names nothing to read", "give metadata, pattern or value")
    return Source(key or "", found, content.get("in", PARTS[0]), value)


def _check_keys(content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise ConfigError(f"{where}.{key}", "is not a key here", closest(str(key), known))
