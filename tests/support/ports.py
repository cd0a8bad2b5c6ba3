"""Ports for servers that must be told theirs before they start."""

import random
import socket
from contextlib import suppress
from pathlib import Path

_CHANCE = random.SystemRandom()
"""Of its own: tests that seed the usual one would all get the same ports."""


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that no connection of this machine is given by chance.

    What the system gives for port 0 lies where it also takes the near ends of connections from: by the time a server has
    started, some other test may talk from there.
    """
    while True:
        port = _CHANCE.randrange(10_000, _lowest_of_connections())
        with suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port


def _lowest_of_connections() -> int:
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()[0])
    except (OSError, ValueError):
        lowest = 32_768
    return lowest if lowest > 12_000 else 60_000
