"""The HTTP client of model servers, with limits of time and size, and its errors with their remedies."""

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import httpcore2
import httpx2
from openai import DefaultHttpxClient, OpenAI, OpenAIError

from rag.core.errors import ServiceError
from rag.core.models.server_keys import NO_KEY, QUOTA, asked_wait

REMEDIES: Mapping[int, str] = {
    **dict.fromkeys((301, 302, 303, 307, 308), "set base_url to the final address, if it is to be trusted"),
    **dict.fromkeys((401, 403), "check the key"),
    404: "check model and base_url",
    429: "wait, or lower batch_size, or raise retries",
}

LONGEST = 64 * 2**20
"""Bytes of the longest reply, streamed or whole: an endless reply must not fill the memory."""

PATIENCE = 24
"""Seconds of `Retry-After` for each retry that are waited for: 2 minutes with 5, and a person with 1 does not wait long."""

LASTING = 10
"""One request may take so many times `timeout`, head and body: `timeout` alone limits a silence, not a slow stream of bytes."""


def connected(url: str, key: str, timeout: float, retries: int, longest: int | None = None) -> OpenAI:
    """A client for one server; a reply of more than `longest` bytes (default LONGEST), or a late one, is an OpenAIError.

    Redirects are not followed: documents and questions go only to the host of the config. Replies come uncompressed, because
    a compressed one may be a thousand times larger in memory.
    """
    http = DefaultHttpxClient(
        timeout=timeout,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [partial(_bound, longest or LONGEST), partial(_not_again, PATIENCE * retries)]},
    )
    for transport in (http._transport, *http._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):  # httpx2 has no parameter for the network behind it
            transport._pool._network_backend = _Network(transport._pool._network_backend, LASTING * timeout)
    return OpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=retries, http_client=http)


def json_of(client: OpenAI, address: str, path: str, body: Any, remedies: Mapping[int, str]) -> Any:
    """The JSON that a server answers, to a GET without a body; ServiceError as `explained`."""
    try:
        post, answer = client.post if body else client.get, {"cast_to": httpx2.Response} | ({"body": body} if body else {})
        return post(path, **answer).json()
    except (OpenAIError, ValueError, RecursionError) as error:
        raise explained(error, address, client.api_key, remedies) from None  # a server may repeat the key


def explained(error: Exception, address: str, key: str, remedies: Mapping[int, str]) -> ServiceError:
    """The error for a failed call, without the key, which some servers repeat; `remedies` by status add to REMEDIES."""
    message = " ".join(f"{error} {error.__cause__ or ''}".split())
    message = (message if key == NO_KEY else message.replace(key, "<key>"))[:300]
    status = getattr(error, "status_code", None)
    other = "check the request" if status else "check base_url, and that the server runs and answers in time"
    return ServiceError(address, f"{type(error).__name__}: {message}", {**REMEDIES, **remedies}.get(status or 0, other))


def _bound(longest: int, response: httpx2.Response) -> None:
    if (packed := response.headers.get("Content-Encoding", "identity")) != "identity":
        raise OpenAIError(f"sent a compressed reply ({packed[:40]}), which was not requested")
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, longest)


def _not_again(patience: float, response: httpx2.Response) -> None:
    """Let the client report a spent quota and a long wait at once."""
    waits = (asked_wait(response.headers) or 0) > patience
    if waits or (response.status_code == 429 and QUOTA.search(response.read().decode("utf-8", "replace"))):
        response.headers["x-should-retry"] = "false"


class _Bounded(httpx2.SyncByteStream):
    """A body that raises an error after so many bytes; the client does not try again."""

    def __init__(self, stream: httpx2.SyncByteStream, longest: int) -> None:
        self._stream, self._longest = stream, longest

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > self._longest:
                raise OpenAIError(f"sent more than {self._longest:,} bytes and did not end")
            yield part

    def close(self) -> None:
        self._stream.close()


class _Network(httpcore2.NetworkBackend):
    """Connections that raise an error so many seconds after a request; the client does not try again."""

    def __init__(self, network: httpcore2.NetworkBackend, seconds: float) -> None:
        self._network, self._seconds = network, seconds

    def connect_tcp(self, *place: Any, **settings: Any) -> httpcore2.NetworkStream:
        return _Timed(self._network.connect_tcp(*place, **settings), self._seconds)


class _Timed(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, seconds: float) -> None:
        self._stream, self._seconds = stream, seconds

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)
        self._deadline = time.monotonic() + self._seconds

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.monotonic() > self._deadline:
            raise OpenAIError(f"was still sending its reply after {self._seconds:g} s")
        return self._stream.read(max_bytes, timeout)

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> "_Timed":
        return _Timed(self._stream.start_tls(ssl_context, server_hostname, timeout), self._seconds)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
