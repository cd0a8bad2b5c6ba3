"""A crowd of clients in a process of its own: `python load.py HOST:PORT PATH CLIENTS SECONDS BODIES`, figures as JSON.

Each client has one connection and asks again as soon as it is answered, as 16 impatient people would. Requests are written
before the clock starts and responses are only counted, so that the crowd takes little of the processors that it shares with
the server: what it took stands among the figures.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path


@dataclass
class Crowd:
    """What clients share: requests still to be sent, and how long each answer took."""

    requests: list[bytes]
    until: float
    taken: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    numbers: "count[int]" = field(default_factory=count)

    async def client(self, host: str, port: int) -> None:
        """Ask until the time is over."""
        reader, writer = await asyncio.open_connection(host, port)
        while (began := time.perf_counter()) < self.until:
            writer.write(self.requests[next(self.numbers) % len(self.requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(_length(head))
            self.taken.append(time.perf_counter() - began)
            status = int(head[9:12])
            self.statuses[status] = self.statuses.get(status, 0) + 1
        writer.close()


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next(int(line[15:]) for line in lines if line.startswith(b"content-length:"))


def written(address: str, path: str, bodies: list[str]) -> list[bytes]:
    """The requests, byte by byte."""
    head = f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: "
    return [head.encode() + b"%d\r\n\r\n" % len(body.encode()) + body.encode() for body in bodies]


async def crowd(address: str, path: str, clients: int, seconds: float, bodies: list[str]) -> dict[str, object]:
    """Requests a second, seconds by share of the requests, statuses, and what the crowd itself took."""
    host, _, port = address.partition(":")
    requests = written(address, path, bodies)
    cpu, began = time.process_time(), time.perf_counter()
    all_ = Crowd(requests, began + seconds)
    await asyncio.gather(*(all_.client(host, int(port)) for _ in range(clients)))
    wall, waits = time.perf_counter() - began, sorted(all_.taken)
    shares = {str(share): waits[min(len(waits) - 1, int(share * len(waits)))] for share in (0.5, 0.9, 0.95, 0.99)}
    figures = {"requests": len(waits), "a_second": len(waits) / wall, "max": waits[-1], "crowd_cpu": time.process_time() - cpu}
    return figures | {"shares": shares, "statuses": all_.statuses}


if __name__ == "__main__":
    where, route, many, long, file = sys.argv[1:]
    asked = Path(file).read_text("utf-8").splitlines()
    sys.stdout.write(json.dumps(asyncio.run(crowd(where, route, int(many), float(long), asked))))
