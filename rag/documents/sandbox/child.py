"""The process that parses files: it reads a request, answers with JSON, and waits for the next.

A request is the JSON of a parser, and then the bytes of a file.
"""

import importlib
import mimetypes
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from json import dumps, loads
from typing import IO, Any

from rag.core.errors import DataError, UserError, install
from rag.core.roles import Parser
from rag.documents.folder.file_tree import CLOSED, LOCKED, NOT_TEXT, OVER
from rag.documents.pages.parsed_format import encode, to_json

CHANNEL = 0
"""The descriptor of the socket to the parent, in place of standard input."""
LENGTH = 8
"""The bytes of a length in front of each message."""


def serve(installation: Sequence[str], memory: int, parent: int) -> None:
    """Answer requests until the parent closes the channel."""
    from rag.documents.sandbox.confinement import allow_seconds, confine

    mimetypes.init([])  # libraries guess types by it: as on every machine, and without a file that may not be read
    confine(installation, memory, parent)
    with open(CHANNEL, "rb") as requests, open(CHANNEL, "wb", closefd=False) as answers:
        while head := _message(requests):
            request, data = loads(head), _message(requests)
            if data is None:
                return
            allow_seconds(request["seconds"])
            answer = _answer(request, data)
            answers.write(len(answer).to_bytes(LENGTH, "little"))
            answers.write(answer)
            answers.flush()


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
        if error.what.startswith("is encrypted"):
            fault = {"reason": LOCKED, "detail": f"{error.what}; {error.remedy}"}
    except ModuleNotFoundError as error:
        remedy = install(error.name or "")
        detail = f"needs the package {error.name}, which is not installed ({remedy})"
        fault = {"reason": f"without {error.name} ({remedy})", "detail": detail}
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


def _message(channel: IO[bytes]) -> bytes | None:
    """The next message; None at the end of the channel."""
    head = channel.read(LENGTH)
    length = int.from_bytes(head, "little")
    data = channel.read(length) if len(head) == LENGTH else b""
    return data if head and len(data) == length else None
