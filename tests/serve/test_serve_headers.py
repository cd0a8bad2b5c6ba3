"""Headers of every response, and the pages and host names that may send requests."""

from pathlib import Path

import pytest
from fastapi import Request, Response
from support.small_server import ALICE, TWO_KEYS, ask, bearer, echo, guarded, small_app

from rag.serve.middleware import SECURITY


async def failing(request: Request) -> Response:
    raise RuntimeError("no")


def test_every_response_has_security_headers_and_is_not_cached() -> None:
    app, key = guarded(failing, keys=TWO_KEYS, timeout=5, body_bytes=1024), bearer(ALICE)
    found = [
        ask(app),
        ask(app, headers=key),
        ask(app, content=b"x" * 1025, headers=key),
        ask(app, "/nowhere", "GET", headers=key),
        ask(app, "/healthz", "GET"),
    ]
    assert [one.status_code for one in found] == [401, 500, 413, 404, 200]
    assert all((SECURITY | {"cache-control": "no-store"}).items() <= one.headers.items() for one in found)


def test_the_page_loads_nothing_from_other_hosts_and_responses_name_the_bundle(bundle: Path, tmp_path: Path) -> None:
    app = small_app(bundle, tmp_path / "serve.db", keys=TWO_KEYS)
    found = ask(app, "/", "GET")
    assert found.status_code == 200
    assert SECURITY.items() <= found.headers.items()
    assert found.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["cache-control"] == "no-cache"
    hashes = {ask(app, path, "GET").headers["x-assay-bundle"] for path in ("/ask", "/nowhere", "/readyz", "/")}
    assert hashes == {app.state.handler.served.models[0].bundle.digest}


def test_the_message_of_an_unexpected_error_is_not_sent() -> None:
    assert ask(guarded(failing)).json() == {
        "type": "urn:assay:internal-server-error",
        "title": "Internal Server Error",
        "status": 500,
        "detail": "RuntimeError",
        "remedy": "the server's log says where",
    }


def test_every_request_gets_an_id_from_the_server() -> None:
    app = guarded(echo)
    found = [ask(app, headers={"X-Request-Id": "mine\\n"}).headers["x-request-id"] for _ in range(2)]
    assert len(set(found)) == 2
    assert all(len(one) == 24 and int(one, 16) >= 0 for one in found)


def test_only_named_origins_are_allowed() -> None:
    origin = {"Origin": "https://a.example"}
    preflight = origin | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    refused = ask(guarded(echo, keys=TWO_KEYS), method="OPTIONS", headers=preflight)
    assert refused.status_code == 401
    assert "access-control-allow-origin" not in refused.headers
    app = guarded(echo, keys=TWO_KEYS, origins=("https://a.example",))
    allowed = ask(app, method="OPTIONS", headers=preflight)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "https://a.example")
    other = ask(app, method="OPTIONS", headers=preflight | {"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers
    answered = ask(app, headers=bearer(ALICE) | origin)
    assert answered.headers["access-control-allow-origin"] == "https://a.example"
    # A page must be able to read why a request was refused.
    assert ask(app, headers=origin).headers["access-control-allow-origin"] == "https://a.example"
    assert "access-control-allow-credentials" not in answered.headers


@pytest.mark.parametrize(
    "base", ["http://127.0.0.1:8000", "http://localhost:1", "http://[::1]:9", "http://server", "http://10.1.2.3"]
)
def test_without_keys_local_names_and_addresses_are_answered(base: str) -> None:
    app = guarded(echo)
    assert ask(app, base=base).status_code == 200
    assert ask(app, base=base, headers={"Origin": base}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "[", "a.b", "1.2.3.4.x"]
)
def test_without_keys_public_names_are_refused(host: str) -> None:
    assert ask(guarded(echo), headers={"Host": host}).status_code == 421
    app, headers = guarded(echo, keys=TWO_KEYS), {"Host": host} | bearer(ALICE)
    paths = ("/ask", "/nowhere", "http://127.0.0.1//nowhere")
    assert [ask(app, path, headers=headers).status_code for path in paths] == [200, 404, 404]
    assert ask(app, headers={"Host": host}).status_code == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1.evil.example", ""])
def test_without_keys_pages_of_other_origins_are_refused(origin: str) -> None:
    app = guarded(echo)
    assert ask(app, base="http://127.0.0.1:8000", headers={"Origin": origin, "Content-Type": "text/plain"}).status_code == 403
    named = guarded(echo, origins=("https://evil.example",))
    assert ask(named, headers={"Origin": "https://evil.example"}).status_code == 200
