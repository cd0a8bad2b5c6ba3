"""The process that parses files: it reads a request, answers with JSON, and waits for the next.

A request is the JSON of a parser, and then the bytes of a file.
"""

import importlib
import mimetypes
import os
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json import dumps, loads
from typing import Any

from rag.core.errors import DataError, UserError
from rag.core.roles import Parser
from rag.documents.file_tree import CLOSED, NOT_TEXT, OVER
from rag.documents.parsed_format import encode, to_json

CHANNEL = 0
"""The descriptor of the socket to the parent, in place of standard input."""
LENGTH = 8
"""The bytes of a length in front of each message."""


def serve(installation: Sequence[str], memory: int, parent: int) -> None:
    """Answer requests until the parent closes the channel."""
    from rag.documents.confinement import allow_seconds, confine

    mimetypes.init([])  # libraries guess types by it: as on every machine, and without a file that may not be read
    confine(installation, memory, parent)
    while (head := _message()) is not None:
        request, data = loads(head), _message()
        if data is None:
            return
        allow_seconds(request["seconds"])
        answer = _answer(request, bytes(data))
        _send(len(answer).to_bytes(LENGTH, "little"))
        _send(answer)


def _answer(request: Mapping[str, Any], data: bytes) -> bytes:
    """The JSON of a parsed content, or of the reason why there is none; `error` is one of the config."""
    began = time.perf_counter()
    fault: dict[str, Any]
    try:
        parsed = _parser(request["target"], dumps(request["parameters"])).parse(data, request["name"])
        answer = encode({"parsed": to_json(parsed), "seconds": time.perf_counter() - began})
        if len(answer) <= request["answer"]:
            return answer
        fault = {"reason": OVER, "detail": f"holds more than {request['answer'] >> 20} MB of text and blocks"}
    except DataError as error:
        fault = {"reason": NOT_TEXT if isinstance(error.__cause__, UnicodeDecodeError) else CLOSED, "detail": error.what}
    except UserError as error:
        fault = {"error": [error.where, error.what, error.remedy]}
    except MemoryError:
        fault = {"reason": OVER, "detail": "memory"}
    except RecursionError:
        fault = {"reason": CLOSED, "detail": "is nested too deeply"}
    except Exception as error:
        # Libraries raise errors of all types for damaged files.
        fault = {"reason": CLOSED, "detail": f"cannot be parsed: {type(error).__name__}: {error}"}
    return encode({**fault, "seconds": time.perf_counter() - began})


@lru_cache(maxsize=64)
def _parser(target: str, parameters: str) -> Parser:
    module, _, name = target.rpartition(".")
    parser = getattr(importlib.import_module(module), name)(**loads(parameters))
    if not isinstance(parser, Parser):
        raise TypeError(f"{target} is not a parser")
    return parser


def _message() -> bytearray | None:
    """The next message; None at the end of the channel."""
    head = _read(LENGTH)
    return _read(int.from_bytes(head, "little")) if head is not None else None


def _read(length: int) -> bytearray | None:
    data = bytearray(length)
    place = memoryview(data)
    while place:
        count = os.readv(CHANNEL, [place])
        if not count:
            return None
        place = place[count:]
    return data


def _send(data: bytes) -> None:
    place = memoryview(data)
    while place:
        place = place[os.write(CHANNEL, place) :]
