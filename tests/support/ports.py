"""Ports for servers that need theirs before they start."""

import random
import socket
from contextlib import suppress
from pathlib import Path

_CHANCE = random.SystemRandom()
"""A generator of its own: tests that seed the usual one would all get the same ports."""


def free_port() -> int:
    """A free port of 127.0.0.1 outside the range from which the system takes the near ends of connections.

    The system's choice for port 0 is in that range: before a server has started, a connection may take the port.
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
