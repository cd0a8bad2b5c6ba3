"""The conditions of a rule of ingestion: each reads one value of a config, and returns a test of files or of texts."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rag.core.checks import is_whole
from rag.core.errors import ConfigError, closest
from rag.core.source_files import SourceFile
from rag.core.text.re2_patterns import compiled
from rag.documents.folder.file_tree import leaves_folder, matches
from rag.documents.languages import language_of, languages

FileTest = Callable[[SourceFile], bool]
TextTest = Callable[[str], bool]
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmg]?)b?", re.IGNORECASE)
HEAD = 4096
"""The first bytes of a file, which tell its media type."""


def path(value: object, where: str) -> FileTest:
    """Files whose name matches one of some glob patterns, relative to the folder, without regard to case."""
    patterns = texts(value, where, "a glob pattern: '**/*.lock'")
    for pattern in patterns:
        if leaves_folder(pattern):
            raise ConfigError(where, f"{pattern!r} leaves the folder", "write it relative: '**/*.lock'")
    return lambda file: any(matches(file.name, pattern) for pattern in patterns)


def kind(value: object, where: str) -> FileTest:
    """Files of some types: a suffix without the dot, or a media type of their first bytes, such as `image/*`."""
    types = [each.lower().removeprefix(".") for each in texts(value, where, "a suffix or a media type: pdf, image/*")]
    suffixes, media = {each for each in types if "/" not in each}, [each for each in types if "/" in each]
    return lambda file: (
        file.suffix in suffixes or (bool(media) and any(fnmatchcase(_media_type(file.path), each) for each in media))
    )


def size(value: object, where: str) -> FileTest:
    """Files of a size in bytes from `min` to `max`; KB, MB and GB are powers of 1,000."""
    limits = {key: _bytes(limit, f"{where}.{key}") for key, limit in _bounds(value, where, ("min", "max")).items()}
    return lambda file: limits.get("min", 0) <= file.size <= limits.get("max", file.size)


def modified(value: object, where: str) -> FileTest:
    """Files changed on or after the day `after` and before the day `before` (UTC): a date, or a number of days before today."""
    bounds = _bounds(value, where, ("after", "before"))
    days = {key: _day(day, f"{where}.{key}") for key, day in bounds.items()}
    return lambda file: (
        ("after" not in days or file.modified >= days["after"]()) and ("before" not in days or file.modified < days["before"]())
    )


def content(value: object, where: str) -> TextTest:
    """Texts in which RE2 finds a pattern; its time is linear in the length of the text."""
    (pattern,) = texts([value], where, "a pattern in single quotes")
    found = compiled(pattern, where)
    return lambda text: found.search(text) is not None


def language(value: object, where: str) -> TextTest:
    """Texts in one of some languages, as codes of ISO 639; a text of few letters has none."""
    codes = texts(value, where, "codes of languages: en, de")
    for code in codes:
        if not re.fullmatch("[a-z]{2,3}", code):
            raise ConfigError(where, f"{code!r} is not a code of a language", "write codes of ISO 639, such as en or de")

    def holds(text: str) -> bool:
        unknown = [code for code in codes if code not in languages()]
        if unknown:
            raise ConfigError(where, f"the language {unknown[0]!r} is not known", closest(unknown[0], languages()))
        return language_of(text) in codes

    return holds


def texts(value: object, where: str, wanted: str) -> list[str]:
    """One text or a list of them; ConfigError for anything else, and for a blank one."""
    values = value if isinstance(value, list) else [value]
    found = [each for each in values if isinstance(each, str) and each.strip()]
    if not found or len(found) < len(values):
        raise ConfigError(where, f"is {value!r}", f"write {wanted}; several in [ ]")
    return found


def _bounds(value: object, where: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(where, f"is {value!r}", f"write {{{known[0]}: …, {known[1]}: …}}, or one of the two")
    for key in value:
        if key not in known:
            raise ConfigError(f"{where}.{key}", "is not a bound", closest(str(key), known))
    return value


def _bytes(value: object, where: str) -> float:
    found = SIZE.fullmatch(str(value).strip()) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if not found:
        raise ConfigError(where, f"{value!r} is not a size", "write a number of bytes, or for example 20 KB")
    return float(found[1]) * UNITS[found[2].lower()]


def _media_type(path: Path) -> str:
    """A media type such as `application/pdf`; empty for text, for an unknown format and for a file that cannot be read."""
    import puremagic

    try:
        with path.open("rb") as file:
            return str(puremagic.from_string(file.read(HEAD), mime=True))
    except (OSError, ValueError, puremagic.PureError):
        return ""


def _day(value: object, where: str) -> Callable[[], float]:
    """The beginning of a day, in seconds since 1970, when it is asked for."""
    if is_whole(value, 0, 100_000):
        days = timedelta(days=int(str(value)))
        return lambda: _seconds(datetime.now(UTC).date() - days)
    try:
        start = _seconds(date.fromisoformat(str(value)))
    except ValueError as error:
        remedy = "write a date, '2024-05-31', or a number of days before today"
        raise ConfigError(where, f"{value!r} is not a date", remedy) from error
    return lambda: start


def _seconds(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()
