"""What must not leave this machine: keys, passwords, and paths that stand for nothing elsewhere."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from rag.bundle.consistency import NAME_LENGTH, is_name
from rag.core.errors import ConfigError, DataError
from rag.core.records import Document
from rag.core.redaction import SECRET_KEY, SECRET_VALUE

SHORTEST, LONGER = 8, 16
"""Characters from which the value of a secret variable is looked for, with a digit in it and without.

Servers that want no key are given any word, and a word stands in texts by chance.
"""

DIGIT = re.compile(r"\d")
ELSEWHERE = re.compile(r"file:|~[\\/]|[A-Za-z]:[\\/]|\\\\[\w.-]+\\[\w.$-]+(?:\\|$)")
"""How a path of a system begins, whatever it is on: an address, a home, a drive, a share."""


def check_config(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a secret, or an absolute path, anywhere in a config."""
    known = secrets()
    for where, value in _texts(config, ""):
        if SECRET_KEY.search(where.rpartition(".")[2]) and value.strip():
            raise ConfigError(where, "holds a secret", "take it out and name a variable instead: api_key_env=<NAME>")
        if SECRET_VALUE.search(value):
            raise ConfigError(where, "holds what looks like a key or a password", "keep it in a variable of the environment")
        if name := next((name for name, secret in known.items() if secret in value), ""):
            raise ConfigError(where, f"holds the value of ${name}", "keep it there: name the variable, not its value")
        if absolute(value):
            raise ConfigError(where, f"is the path {value!r}", "a bundle opens anywhere: name a file below the working folder")


def check_documents(documents: tuple[Document, ...]) -> None:
    """Raise DataError for a document that holds a secret of the environment, or an absolute path in its metadata.

    So it does for one that no bundle can hold: with half a character in its text, a control character in its name, or metadata
    that is no plain value.
    """
    known = secrets()
    for document in documents:
        _check_plain(document)
        texts = [document.text, *(str(value) for value in document.metadata.values())]
        if name := next((name for name, secret in known.items() if any(secret in text for text in texts)), ""):
            raise DataError(f"document {document.doc_id}", f"holds the value of ${name}", "take it out: a bundle is passed on")
        for key, value in document.metadata.items():
            if isinstance(value, str) and absolute(value):
                what = f"has the path {value!r} as its {key!r}"
                raise DataError(f"document {document.doc_id}", what, "leave it out of the metadata: it names this machine")


def _check_plain(document: Document) -> None:
    where, name = f"document {document.doc_id!r}", document.doc_id
    if not is_name(name):
        raise DataError(where, "has a name that no bundle takes", f"1 to {NAME_LENGTH:,} printable characters")
    try:
        json.dumps([name, document.text, dict(document.metadata)], ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(where, "holds half a character (a lone surrogate)", "mend its text: nobody could read it") from error
    except (TypeError, ValueError) as error:
        raise DataError(where, f"has metadata that is no JSON ({error})", "texts, finite numbers, true and false") from error


def secrets() -> dict[str, str]:
    """The variables of the environment that hold a secret, by the look of their names."""
    found = {name: value.strip() for name, value in os.environ.items() if SECRET_KEY.search(name)}
    return {name: value for name, value in found.items() if len(value) >= (SHORTEST if DIGIT.search(value) else LONGER)}


def absolute(text: str) -> bool:
    """Whether a text is an absolute path: of two names or more, or one that is there; `/no_think` is a word to a model."""
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
