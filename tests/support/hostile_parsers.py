"""Parsers that misbehave in the process that parses: the first bytes of a file say how."""

import ctypes
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

from rag.core.errors import ConfigError, DataError
from rag.core.types import Block, Parsed

LEAKED: list[bytearray] = []


class HostileParser:
    """Does what the file says."""

    suffixes: ClassVar[tuple[str, ...]] = ("bad",)
    in_process: ClassVar[bool] = False

    def __init__(self, greeting: str = "hello") -> None:
        self.greeting = greeting

    def parse(self, data: bytes, name: str) -> Parsed:
        """Run the deed."""
        deed, _, argument = data.decode().partition(" ")
        return Parsed(f"{self.greeting} {getattr(self, f'do_{deed}')(argument)} {name}", (Block("text", 0, 5, 1),), {"n": 1}, 1)

    def do_say(self, text: str) -> str:
        return text

    def do_slow(self, seconds: str) -> str:
        time.sleep(float(seconds))
        return seconds

    def do_pid(self, _: str) -> str:
        return str(os.getpid())

    def do_loop(self, _: str) -> str:
        while True:
            pass

    def do_sleep(self, _: str) -> str:
        while True:
            time.sleep(1)

    def do_fill(self, _: str) -> str:
        held = [bytearray(8 << 20)]
        while True:
            held.append(bytearray(8 << 20))

    def do_grow(self, _: str) -> str:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        while place := libc.malloc(8 << 20):
            ctypes.memset(place, 1, 8 << 20)
        os.abort()  # as programs in Rust do

    def do_leak(self, megabytes: str) -> str:
        LEAKED.append(bytearray(int(megabytes) << 20))
        return megabytes

    def do_talk(self, _: str) -> str:
        return "x" * (100 << 20)

    def do_refuse(self, text: str) -> str:
        raise DataError("here", text, "none")

    def do_fault(self, text: str) -> str:
        raise ValueError(text)

    def do_nest(self, _: str) -> str:
        return self.do_nest(_)

    def do_config(self, _: str) -> str:
        raise ConfigError("loader.parsers.bad", "needs a model", "install it")

    def do_segfault(self, _: str) -> str:
        return str(ctypes.string_at(0))

    def do_exit(self, _: str) -> str:
        os._exit(3)

    def do_garbage(self, text: str) -> str:
        os.write(0, len(text).to_bytes(8, "little") + text.encode())
        time.sleep(60)
        return ""

    def do_huge(self, _: str) -> str:
        os.write(0, (1 << 40).to_bytes(8, "little"))
        time.sleep(60)
        return ""

    def do_connect(self, port: str) -> str:
        with socket.create_connection(("127.0.0.1", int(port)), 2):
            return "connected"

    def do_connect_in_c(self, port: str) -> str:
        libc = ctypes.CDLL(None, use_errno=True)
        channel = libc.socket(2, 1, 0)
        address = (2).to_bytes(2, sys.byteorder) + int(port).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
        return f"connect {libc.connect(channel, address, 16)}"

    def do_run(self, path: str) -> str:
        return str(subprocess.run(["touch", path], check=False).returncode)

    def do_fork(self, _: str) -> str:
        return str(os.fork())

    def do_write(self, path: str) -> str:
        Path(path).write_text("written")
        return "written"

    def do_write_in_c(self, path: str) -> str:
        return f"open {ctypes.CDLL(None).open(path.encode(), os.O_WRONLY | os.O_CREAT, 0o600)}"

    def do_read(self, path: str) -> str:
        return Path(path).read_text()

    def do_read_in_c(self, path: str) -> str:
        return f"open {ctypes.CDLL(None).open(path.encode(), os.O_RDONLY)}"

    def do_remove_in_c(self, path: str) -> str:
        return f"unlink {ctypes.CDLL(None).unlink(path.encode())}"

    def do_run_in_c(self, path: str) -> str:
        arguments = (ctypes.c_char_p * 3)(b"touch", path.encode(), None)
        return f"exec {ctypes.CDLL(None).execv(b'/usr/bin/touch', arguments)}"

    def do_environment(self, _: str) -> str:
        return " ".join(sorted(os.environ))
