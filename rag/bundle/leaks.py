"""Keep keys, passwords and paths of this machine out of a bundle."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from rag.bundle.block_records import places_of, record_of
from rag.bundle.consistency import NAME_LENGTH, is_name
from rag.bundle.errors import BundleError
from rag.core.errors import ConfigError, DataError
from rag.core.redaction import is_secret_name, secret_rule
from rag.core.types import Document

SHORTEST, LONGER = 8, 16
"""Fewest characters of a secret that is searched for, with a digit in it and without.

Servers without keys are given any word as a key, and a word occurs in texts by chance.
"""

DIGIT = re.compile(r"\d")
ELSEWHERE = re.compile(r"file:|~[\\/]|[A-Za-z]:[\\/]|\\\\[\w.-]+\\[\w.$-]+(?:\\|$)")
"""Beginnings of absolute paths other than `/`: a file URL, a home, a drive, a share."""


def check_config(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a secret or an absolute path anywhere in a config."""
    known = secrets()
    for where, value in _texts(config, ""):
        if is_secret_name(where.rpartition(".")[2]) and value.strip():
            raise ConfigError(where, "holds a secret", "remove it and name a variable instead: api_key_env=<NAME>")
        if rule := secret_rule(value):
            what = f"holds what looks like a key or a password ({rule})"
            raise ConfigError(where, what, "keep it in a variable of the environment")
        if name := next((name for name, secret in known.items() if secret in value), ""):
            raise ConfigError(where, f"holds the value of ${name}", "name the variable, not its value")
        if absolute(value):
            raise ConfigError(where, f"is the path {value!r}", "a bundle opens anywhere: name a file below the working folder")


def check_documents(documents: tuple[Document, ...]) -> None:
    """Raise DataError for documents that must not or cannot be in a bundle.

    These hold the value of a secret variable, an absolute path in the metadata, a lone surrogate in the text, a control
    character in the name, blocks that are not valid, or metadata other than texts, finite numbers, true and false.
    """
    known = secrets()
    for document in documents:
        _check_plain(document)
        where = f"document {document.doc_id}"
        texts = [document.text, *map(str, document.metadata.values()), *(block.name for block in document.blocks)]
        if name := next((name for name, secret in known.items() if any(secret in text for text in texts)), ""):
            raise DataError(where, f"holds the value of ${name}", "remove it: bundles are passed on")
        for key, value in document.metadata.items():
            if isinstance(value, str) and absolute(value):
                what = f"has the path {value!r} as its {key!r}"
                raise DataError(where, what, "remove it: it names a folder of this machine")


def _check_plain(document: Document) -> None:
    where, name = f"document {document.doc_id!r}", document.doc_id
    if not is_name(name):
        raise DataError(where, "has a name that a bundle cannot hold", f"1 to {NAME_LENGTH:,} printable characters")
    try:
        json.dumps([name, document.text, dict(document.metadata)], ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(where, "holds half a character (a lone surrogate)", "fix its text") from error
    except (TypeError, ValueError) as error:
        what = f"has metadata that is not JSON ({error})"
        raise DataError(where, what, "texts, finite numbers, true and false") from error
    try:
        places_of(record_of(document), len(document.text), where)
    except BundleError as error:
        raise DataError(error.where, error.what, "correct the parser that gave it") from error


def secrets() -> dict[str, str]:
    """The values of environment variables whose names look like those of secrets, by name."""
    found = {name: value.strip() for name, value in os.environ.items() if is_secret_name(name)}
    return {name: value for name, value in found.items() if len(value) >= (SHORTEST if DIGIT.search(value) else LONGER)}


def absolute(text: str) -> bool:
    """Whether a text is an absolute path: of two names or more, or of one that exists; `/no_think` is a word for a model."""
    if "\n" in text or not text.strip():
        return False
    if ELSEWHERE.match(text):
        return True
    path = PurePosixPath(text)
    return path.is_absolute() and " " not in text and (len(path.parts) > 2 or (len(path.parts) > 1 and os.path.exists(text)))


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(part, f"{where}.{name}".lstrip("."))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part, where)
    elif isinstance(value, str):
        yield where, value
