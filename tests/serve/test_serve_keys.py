"""Keys, their owners, and settings that a server refuses to start with."""

import hmac
import re
import socket
from pathlib import Path

import pytest
from fastapi import FastAPI
from support.command_line import Verb, verb
from support.small_server import ALICE, BOB, TWO_KEYS, ask, bearer, small_app

from rag.core.errors import ConfigError
from rag.core.redaction import redacted_text
from rag.serve.keys import PREFIX, Keys, hashed, new_key
from rag.serve.settings import BOUNDS, Settings, variable_name

rag = pytest.fixture(verb)


@pytest.fixture(scope="module")
def app(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The whole application with keys."""
    return small_app(bundle, tmp_path_factory.mktemp("keys") / "serve.db", keys=TWO_KEYS, rate=0)


def test_only_the_key_itself_has_an_owner() -> None:
    assert TWO_KEYS.owner(f"bearer  {ALICE} ") == "alice"
    assert TWO_KEYS.names == ("alice", "bob")
    assert [TWO_KEYS.owner(f"Bearer {key}") for key in (ALICE, BOB, new_key())] == ["alice", "bob", None]
    for header in (None, "", "Bearer", "Bearer ", ALICE, f"Basic {ALICE}", f"Bearer {hashed(ALICE)}", f"Bearer {ALICE}x"):
        assert TWO_KEYS.owner(header) is None
    keys = Keys.parsed(f"alice:{hashed(ALICE)}, alice:{hashed(BOB)},")
    assert {keys.owner(f"Bearer {key}") for key in (ALICE, BOB)} == {"alice"}
    assert Keys().owner(None) == Keys().owner("Bearer any") == "anyone"
    assert not Keys.parsed("")


def test_every_hash_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def digest(one: str, other: str) -> bool:
        compared.append((one, other))
        return original(one, other)

    original = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", digest)
    for key in (ALICE, BOB, new_key()):
        TWO_KEYS.owner(f"Bearer {key}")
    assert [known for _, known in compared] == [known for _, known in TWO_KEYS.entries] * 3
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one, _ in compared)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (ALICE, "entry 1 is not NAME:sha256"),
        (f"bob:{hashed(BOB)},alice:{ALICE}", "entry 2 is not NAME:sha256"),
        (f":{hashed(ALICE)}", "a name has characters that are not allowed"),
        (f"anyone:{hashed(ALICE)}", "'anyone' stands for requests without a key"),
        (f"alice:{hashed(ALICE)},bob:{hashed(ALICE)}", "entry 2 has the key of 'alice' under another name"),
        (" , ", "is set and names no key"),
    ],
)
def test_an_invalid_list_of_keys_is_refused_without_repeating_it(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(what)) as caught:
        Keys.parsed(text)
    assert ALICE not in str(caught.value)


def test_the_verb_makes_a_key_and_its_entry(rag: Verb) -> None:
    printed = rag("key", "carol", "--json").json
    key, entry = printed["key"], printed["entry"]
    assert Keys.parsed(entry).owner(f"Bearer {key}") == "carol"
    assert (key.startswith(PREFIX), len(key)) == (True, len(PREFIX) + 43)
    assert key not in redacted_text("note", f"it is {key}")
    said = rag("key", "carol")
    key, entry = said.out.splitlines()
    assert entry == f"carol:{hashed(key)}"
    assert key not in said.err
    refused = rag("key", "carol,dave")
    assert (refused.code, refused.out) == (2, "")
    assert "letters, digits, dots" in refused.err


def test_settings_come_from_the_environment_and_overrides_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"PORT": "81", "RATE": "1.5", "LOG_TEXTS": "yes", "ORIGINS": "https://a.example/, http://b:1", "HOST": "::1"}
    for name, text in texts.items():
        monkeypatch.setenv(f"RAG_{name}", text)
    monkeypatch.setenv("RAG_API_KEYS", f"alice:{hashed(ALICE)}")
    found = Settings.from_environment(port=82, host=None)
    assert (found.port, found.rate, found.log_texts, found.host) == (82, 1.5, True, "::1")
    assert found.origins == ("https://a.example", "http://b:1")
    assert found.keys.names == ("alice",)
    assert Settings() == Settings.from_environment(
        port=8000, rate=600, log_texts=False, origins=(), host="127.0.0.1", keys=Keys()
    )


@pytest.mark.parametrize(
    ("name", "text"), [("PORT", "eighty"), ("RATE", "nan"), ("TIMEOUT", "0"), ("LOG_TEXTS", "perhaps"), ("ORIGINS", "*")]
)
def test_an_invalid_setting_names_its_variable(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"RAG_{name}", text)
    with pytest.raises(ConfigError, match=f"^RAG_{name}: "):
        Settings.from_environment()


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_is_checked(name: str) -> None:
    low, high = BOUNDS[name]
    for value in (low, high):
        Settings(**{name: value})
    for value in (low - 1, high + 1, float("nan")):
        with pytest.raises(ConfigError, match=f"^{variable_name(name)}: "):
            Settings(**{name: value})


def test_a_public_address_needs_keys_before_anything_is_opened(rag: Verb, here: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.example.org", ""):
        with pytest.raises(ConfigError, match=r"RAG_HOST.*others can reach(.|\n)*rag bundle key NAME"):
            Settings(host=host)
        assert Settings(host=host, keys=TWO_KEYS).host == host
    for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost"):
        assert not Settings(host=host).keys
    said = rag("serve", "no/such/bundle", "--host", "0.0.0.0")
    assert said.code == 2
    assert "RAG_API_KEYS" in said.err


def test_a_taken_address_is_refused_before_anything_is_opened(rag: Verb, here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = rag("serve", "no/such/bundle", "--port", str(taken.getsockname()[1]))
    assert (said.code, "cannot be used" in said.err) == (2, True)


def test_settings_do_not_show_secrets() -> None:
    text = repr(Settings(keys=TWO_KEYS, sessions="postgresql://u:hunter2@db/assay"))
    assert "hunter2" not in text
    assert hashed(ALICE) not in text


def test_every_route_but_health_and_the_page_needs_a_key(app: FastAPI) -> None:
    document = ask(app, "/openapi.json", "GET", headers=bearer(ALICE)).json()
    routes = [(path, method.upper()) for path, methods in document["paths"].items() for method in methods]
    assert {path for path, _ in routes} >= {"/ask", "/chat", "/search", "/healthz", "/metrics"}
    others = [("/openapi.json", "GET"), ("/nowhere", "GET"), ("/", "POST"), ("/healthz", "POST"), ("/page/x", "PUT")]
    for path, method in routes + others:
        filled = re.sub(r"\{[^}]*\}", "x", path)
        without = ask(app, filled, method)
        wrong = ask(app, filled, method, headers=bearer(new_key()))
        with_key = ask(app, filled, method, headers=bearer(BOB))
        if (path, method) in [("/healthz", "GET"), ("/readyz", "GET")]:
            assert {without.status_code, wrong.status_code, with_key.status_code} == {200}
        else:
            assert (without.status_code, wrong.status_code) == (401, 401), (path, method)
            assert with_key.status_code != 401
            assert without.headers["www-authenticate"] == "Bearer"
    assert ask(app, "/", "GET").status_code == ask(app, "/page/icons.svg", "GET").status_code == 200


@pytest.mark.parametrize("path", ["/page/../", "/page/..%2F", "http://127.0.0.1//", "/page/%2e%2e/", "/healthz/../"])
def test_no_path_avoids_the_key(app: FastAPI, path: str) -> None:
    for name in (f"{path}metrics", "/METRICS", "/page/"):
        found = ask(app, name, "GET")
        assert found.status_code in (401, 404), name
        assert b"assay_requests" not in found.content
