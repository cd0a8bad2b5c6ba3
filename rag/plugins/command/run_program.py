"""A program with a text on standard input: bounded in time and bytes, without a shell, ended with all that it started."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import TemporaryDirectory, TemporaryFile

LAST, PIECE, QUIET = 4096, 65536, 0.2
"""Bytes of standard error that are kept, bytes of a read, and the silent seconds after which a program may be over."""


class ProgramError(Exception):
    """A program that gave no answer; the text says what it did."""


def output_of(arguments: Sequence[str], text: bytes, environment: Mapping[str, str], seconds: float, most: int) -> bytes:
    """Standard output of a program in an empty folder; ProgramError, or OSError if it does not start.

    It leads a session of its own, which is killed at the end. A process that left the session is not, and is not waited for.
    """
    until = time.monotonic() + seconds
    with TemporaryDirectory() as folder, TemporaryFile() as prompt:
        prompt.write(text)  # a pipe would block where the program does not read
        prompt.seek(0)
        program = Popen(arguments, 0, None, prompt, PIPE, PIPE, env=environment, cwd=folder, start_new_session=True)
        try:
            output, errors = _read(program, until, most)
            code = program.wait(max(until - time.monotonic(), 0))
        except TimeoutExpired as error:
            raise ProgramError(f"gave no answer within {seconds:g} s") from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(program.pid, signal.SIGKILL)
            for pipe in (program.stdout, program.stderr):
                (pipe or prompt).close()
            program.wait()
    if code:
        said = ([line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()] or ["nothing"])[-1]
        ended = f"exit status {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        raise ProgramError(f"ended with {ended} and said {said}")
    return output


def _read(program: Popen[bytes], until: float, most: int) -> tuple[bytes, bytes]:
    """Standard output, and the end of standard error, until both are closed or the program is over and silent."""
    found = {1: bytearray(), 2: bytearray()}
    with DefaultSelector() as pipes:
        pipes.register(program.stdout or 1, EVENT_READ, 1)
        pipes.register(program.stderr or 2, EVENT_READ, 2)
        while pipes.get_map():
            ready = pipes.select(QUIET)
            if time.monotonic() > until:
                raise TimeoutExpired(program.args, until)
            if not ready and program.poll() is not None:
                break
            for key, _ in ready:
                found[key.data] += (piece := os.read(key.fd, PIECE))
                if not piece:
                    pipes.unregister(key.fileobj)
            if len(found[1]) > most:
                raise ProgramError(f"wrote more than {most:,} bytes")
            del found[2][:-LAST]
    return bytes(found[1]), bytes(found[2])
