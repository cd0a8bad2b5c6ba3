"""The HTTP client that a chat completions server is asked with: it goes nowhere else and reads no more than a reply can be."""

import time
from collections.abc import Iterator
from functools import partial

import httpx2
from openai import DefaultHttpxClient, OpenAI, OpenAIError

LONGEST = 64 * 2**20
"""Bytes of the longest reply, streamed or whole: a server that never ends must not fill the memory."""

LASTING = 10
"""How many times `timeout` the body of a reply may take: `timeout` alone bounds a silence, not a byte now and then."""


def connected(url: str, key: str, timeout: float, retries: int) -> OpenAI:
    """A client for one server.

    Redirects are not followed: documents and questions go to the host that the config names, and to no other.
    """
    http = DefaultHttpxClient(
        timeout=timeout, follow_redirects=False, event_hooks={"response": [partial(_bound, LASTING * timeout)]}
    )
    return OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=retries, http_client=http)


def _bound(seconds: float, response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, seconds)


class _Bounded(httpx2.SyncByteStream):
    """A body that is an error, which is not tried again, after LONGEST bytes or so many seconds."""

    def __init__(self, stream: httpx2.SyncByteStream, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds

    def __iter__(self) -> Iterator[bytes]:
        size, deadline = 0, time.monotonic() + self._seconds
        for part in self._stream:
            size += len(part)
            if size > LONGEST:
                raise OpenAIError(f"sent more than {LONGEST:,} bytes and did not end")
            if time.monotonic() > deadline:
                raise OpenAIError(f"was still sending its reply after {self._seconds:g} s")
            yield part

    def close(self) -> None:
        self._stream.close()
