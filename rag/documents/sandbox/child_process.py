"""One confined process that parses files, as its parent sees it: nothing that it sends is trusted."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rag.core.errors import ConfigError, DataError
from rag.core.types import Parsed
from rag.documents.folder.file_tree import CRASHED, LOCKED, OVER
from rag.documents.folder.json_rows import parse_json, shortened
from rag.documents.pages.parsed_format import from_json
from rag.documents.pages.pdf_files import UNLOCKS
from rag.documents.sandbox.child import LENGTH
from rag.documents.sandbox.limits import Limits

BOOT = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rag.documents.sandbox.child import serve
serve(*json.loads(sys.argv[2]))"""
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""All variables of the process. Each thread and each arena would take address space."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read: a short `reason`, and `detail`, one line for a person.

    `is_lasting`: the same bytes fail again.
    """

    reason: str
    detail: str
    is_lasting: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a file, and the seconds of parsing. `is_tainted`: the process is over, and a new one may do better."""

    content: Parsed | Unreadable
    seconds: float
    is_tainted: bool = False


class ChildProcess:
    """A process and the channel to it. `files` is the number of files that it was given; `opened` are descriptors for it."""

    def __init__(self, installation: Sequence[str], limits: Limits, opened: Sequence[int] = (), password: str = "") -> None:
        self.limits, self.files, self.is_alive = limits, 0, True
        self._channel, theirs = socket.socketpair()
        # The kernel counts the peak of this process as that of the child, too: only a greater one is its own.
        self._inherited = _peak(resource.getrusage(resource.RUSAGE_SELF))
        paths, terms = [path for path in sys.path if path], [installation, limits.memory, os.getpid()]
        command = [sys.executable, "-I", "-c", BOOT, json.dumps(paths), json.dumps(terms)]
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**ENVIRONMENT, UNLOCKS: password},
                pass_fds=opened,
                start_new_session=True,
            )

    def ask(self, head: bytes, data: bytes) -> Answer:
        """The answer to a request; ConfigError where the parser has a fault of the config. Other faults end the process."""
        self.files += 1
        began = time.monotonic()
        try:
            answer = self._exchange(head, data, began + self.limits.longest)
            content, seconds = self._content(answer), answer["seconds"]
            if not 0 <= seconds <= time.monotonic() - began:
                raise ValueError(f"took {seconds} seconds")
            return Answer(content, seconds, not self.is_alive)
        except TimeoutError:
            self.end()
            content = Unreadable(OVER, f"was not parsed within {self.limits.longest:g} seconds", is_lasting=False)
            return Answer(content, time.monotonic() - began)
        except OSError:
            content, is_tainted = self._cause_of_death()
            return Answer(content, time.monotonic() - began, is_tainted)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, DataError) as error:
            self.end()
            content = Unreadable(CRASHED, f"got no valid content from its parser: {shortened(str(error), 120)}")
            return Answer(content, time.monotonic() - began)

    def end(self) -> tuple[int, int]:
        """End the process and all that it started; its exit code and its peak of memory in bytes, 0 if not known."""
        self.is_alive = False
        with suppress(OSError):
            self._channel.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except ChildProcessError:
            return 0, 0  # another thread has ended it
        self._process.returncode = os.waitstatus_to_exitcode(status)
        memory = _peak(usage)
        return self._process.returncode, memory if memory > self._inherited else 0

    def _exchange(self, head: bytes, data: bytes, until: float) -> Mapping[str, Any]:
        for part in (len(head).to_bytes(LENGTH, "little") + head, len(data).to_bytes(LENGTH, "little"), data):
            self._wait_at_most(until)
            self._channel.sendall(part)
        length = int.from_bytes(self._read(LENGTH, until), "little")
        if length > self.limits.answer + 4096:
            raise ValueError(f"an answer of {length} bytes")
        answer: Mapping[str, Any] = parse_json(self._read(length, until).decode("utf-8"), "its answer")
        return answer

    def _read(self, length: int, until: float) -> bytearray:
        data = bytearray(length)
        place = memoryview(data)
        while place:
            self._wait_at_most(until)
            count = self._channel.recv_into(place)
            if not count:
                raise ConnectionResetError
            place = place[count:]
        return data

    def _wait_at_most(self, until: float) -> None:
        self._channel.settimeout(max(until - time.monotonic(), 0.001))

    def _content(self, answer: Mapping[str, Any]) -> Parsed | Unreadable:
        if "error" in answer:
            where, what, remedy = answer["error"]
            raise ConfigError(str(where), str(what), str(remedy))
        if "parsed" in answer:
            return from_json(answer["parsed"])
        reason, detail = str(answer["reason"]), str(answer["detail"])[:2000]
        if (reason, detail) == (OVER, "memory"):
            self.end()
            detail = self._too_much_memory()
        return Unreadable(reason, detail, is_lasting=reason != LOCKED)

    def _cause_of_death(self) -> tuple[Unreadable, bool]:
        """Why the process is over, and whether a new one may do better."""
        code, memory = self.end()
        known = {-each.value: each.name for each in signal.Signals}
        name = known.get(code, f"exit code {code}")
        if name == "SIGXCPU":
            return Unreadable(OVER, f"takes more than {self.limits.seconds} seconds of CPU time"), False
        if name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"):
            return Unreadable(CRASHED, f"was not parsed: its process was ended from outside ({name})", is_lasting=False), False
        if 2 * memory > self.limits.memory:
            return Unreadable(OVER, f"{self._too_much_memory()} ({name})"), True
        used = f", with {memory >> 20} MB of memory" if memory else ""
        return Unreadable(CRASHED, f"ended the process of its parser ({name}{used})"), True

    def _too_much_memory(self) -> str:
        return f"needs more than {self.limits.memory >> 20} MB of memory"


def _peak(usage: resource.struct_rusage) -> int:
    """The greatest use of memory in bytes."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
