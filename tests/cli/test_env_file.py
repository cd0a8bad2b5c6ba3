"""Keys in `.env`: what is read, what is refused, and that no value shows."""

import os
from pathlib import Path

import pytest
from support.command_line import Verb

from rag.bundle.leaks import secrets
from rag.cli.env_file import read_env_file
from rag.core.errors import ConfigError

SECRET = "sk-4711-wombat-secret"


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAG_ENV_FILE", "OPENAI_API_KEY", "GROQ_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_keys_are_read_and_the_environment_comes_first(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "real")
    lines = (
        "# keys",
        f"export OPENAI_API_KEY='{SECRET}' # mine",
        'OPENAI_MODEL="gpt-4.1-nano"',
        "GROQ_API_KEY=other",
        "GEMINI_API_KEY=",
        "OPENAI_BASE_URL=http://127.0.0.1:8081/v1",
        "PATH=/tmp/evil",
        "MLFLOW_TRACKING_URI=http://elsewhere",
        "HTTPS_PROXY=http://elsewhere",
        "RAG_HOST=0.0.0.0",
    )
    (here / ".env").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    before = {
        name: os.environ.get(name) for name in ("PATH", "MLFLOW_TRACKING_URI", "HTTPS_PROXY", "RAG_HOST", "GEMINI_API_KEY")
    }
    read_env_file()
    expected = {"OPENAI_API_KEY": SECRET, "OPENAI_MODEL": "gpt-4.1-nano", "OPENAI_BASE_URL": "http://127.0.0.1:8081/v1"}
    assert {name: os.environ[name] for name in expected} == expected
    assert os.environ["GROQ_API_KEY"] == "real"
    assert {name: os.environ.get(name) for name in before} == before
    assert secrets()["OPENAI_API_KEY"] == SECRET, "a bundle with this value is refused"


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        (f"OPENAI_API_KEY={SECRET}\nOPENAI_BASE_URL=https://elsewhere.example/v1".encode(), 2, "not on this machine"),
        (b"OPENAI_API_KEY=${OTHER}", 1, "refers to another variable"),
        (f"A=1\n\nOPENAI_API_KEY='{SECRET}\n".encode(), 3, "quotes do not close"),
        (f"OPENAI_API_KEY={SECRET}\n".encode() * 5000, None, "more than 65,536 bytes"),
        (f"OPENAI_API_KEY={SECRET}\0".encode(), None, "zero byte"),
        (b"\x89PNG\xff\xfe", None, "not text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_without_its_values(
    here: Path, content: bytes, line: int | None, what: str
) -> None:
    (here / ".env").write_bytes(content)
    with pytest.raises(ConfigError, match=what) as caught:
        read_env_file()
    assert str(caught.value).startswith(f".env:{line}" if line else ".env: ")
    assert SECRET not in str(caught.value)


def test_an_address_that_the_environment_has_too_is_yours(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".env").write_text("OPENAI_BASE_URL=https://elsewhere.example/v1", encoding="utf-8")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://mine.example/v1")
    read_env_file()
    assert os.environ["OPENAI_BASE_URL"] == "https://mine.example/v1"


def test_a_folder_is_no_file_and_another_file_can_be_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".env").mkdir()
    read_env_file()
    (here / "keys.env").write_text(f"OPENAI_API_KEY={SECRET}", encoding="utf-8")
    monkeypatch.setenv("RAG_ENV_FILE", "")
    read_env_file()
    assert "OPENAI_API_KEY" not in os.environ
    monkeypatch.setenv("RAG_ENV_FILE", "keys.env")
    read_env_file()
    assert os.environ["OPENAI_API_KEY"] == SECRET


def test_the_command_line_reads_it_before_it_composes(here: Path, rag: Verb) -> None:
    (here / ".env").write_text("GROQ_API_KEY=sk-4711", encoding="utf-8")
    shown = rag("prompt", "show", "generator=auto", "generator.base_url=http://127.0.0.1:1")
    assert "none is set" not in shown.err
    assert os.environ["GROQ_API_KEY"] == "sk-4711"
    (here / ".env").write_text("what is this 'sk-4711", encoding="utf-8")
    broken = rag("list")
    assert (broken.code, "sk-4711" in broken.err) == (2, False)
    assert broken.err.startswith(".env:1: ")
    assert rag("--version").code == 0
