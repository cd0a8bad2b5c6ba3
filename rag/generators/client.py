"""The HTTP client that a chat completions server is asked with: it goes nowhere else and reads no more than a reply can be."""

from collections.abc import Iterator

import httpx2
from openai import DefaultHttpxClient, OpenAI, OpenAIError

LONGEST = 64 * 2**20
"""Bytes of the longest reply, streamed or whole: a server that never ends must not fill the memory."""


def connected(url: str, key: str, timeout: float, retries: int) -> OpenAI:
    """A client for one server.

    Redirects are not followed: documents and questions go to the host that the config names, and to no other.
    """
    http = DefaultHttpxClient(timeout=timeout, follow_redirects=False, event_hooks={"response": [_bound]})
    return OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=retries, http_client=http)


def _bound(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.SyncByteStream):
    """A body that is an error, which is not tried again, from LONGEST bytes on."""

    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > LONGEST:
                raise OpenAIError(f"sent more than {LONGEST:,} bytes and did not end")
            yield part

    def close(self) -> None:
        self._stream.close()
