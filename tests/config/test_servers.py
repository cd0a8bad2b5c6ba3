"""Where keys and documents may go: refused before a connection, unless shipped, on this machine, exported or named."""

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from support.choices import FILES as SHIPPED
from support.command_line import Verb, verb
from support.plugin_packages import add_plugin
from support.scripted_server import say, serving
from support.small_set import write_golden

from rag.config import catalog
from rag.config.servers import Trust, origin_of
from rag.core.errors import ConfigError

ELSEWHERE = "https://192.0.2.2:8898/v1"  # a documentation address: RFC 5737
SECRET = "sk-USERSECRETKEY0001"
NATIVE = ("dataset=native", "dataset.path=set", "index=[bm25s]", "fusion=single", "check=none", "embedder=hashing")


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """The command in an empty folder with a golden set, with three secrets; a connection to another machine is an error."""
    write_golden(here / "set")
    for name in ("OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, SECRET)
    reached, connect = [], socket.socket.connect

    def watched(self: socket.socket, address: Any) -> Any:
        if self.family != socket.AF_UNIX and not str(address[0]).startswith("127."):
            reached.append(address)
            raise AssertionError(f"connected to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    run = verb(capsys, monkeypatch)

    def checked(*arguments: str) -> Any:
        done = run(*arguments)
        assert not reached
        assert SECRET not in done.out + done.err
        assert "Traceback" not in done.err
        return done

    return checked


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


def changed(choice: str, key: str, value: str) -> str:
    """The text of a shipped choice with another value of a key."""
    text = SHIPPED[choice].read_text("utf-8")
    found, count = re.subn(rf"(?m)^(\s*){key}:.*$", rf"\g<1>{key}: {value}", text)
    assert count
    return found


SENT = "would send questions, passages and OPENAI_API_KEY to 192.0.2.2:8898"
BARE = "would send questions and passages to 192.0.2.2"
OVERRIDES = {
    "a generator": (["generator=openai", f"generator.base_url={ELSEWHERE}"], SENT),
    "without a key": (["generator=openai", f"generator.base_url={ELSEWHERE}", "generator.api_key_env=null"], BARE),
    "another variable": (["generator=openai", "generator.api_key_env=GITHUB_TOKEN"], "GITHUB_TOKEN to api.openai.com:443"),
    "a helper": (["queries=rewrite", "helper=openai", f"helper.base_url={ELSEWHERE}"], SENT),
    "a judge": (["judge=llm", f"judge.generator.base_url={ELSEWHERE}", "metrics=[faithfulness]"], SENT),
    "an embedder": (["index=[dense]", "embedder=openai", f"embedder.base_url={ELSEWHERE}"], SENT),
    "a key of an embedder": (["index=[dense]", "embedder=openai", "embedder.runtime.api_key_env=GITHUB_TOKEN"], "GITHUB_TOKEN"),
    "a reranker": (["reranker=cohere", f"reranker.base_url={ELSEWHERE}"], "COHERE_API_KEY to 192.0.2.2"),
    "a database": (["index=[pgvector]", "index.pgvector.runtime.url=postgresql://u@192.0.2.2/db"], BARE),
    "qdrant": (["index=[qdrant]", f"index.qdrant.runtime.url={ELSEWHERE}"], BARE),
    "a field of the body": (
        ["generator=openai", "++generator.extra={mcp:{server_url:'https://192.0.2.2/x'}}"],
        "192.0.2.2:443",
    ),
    "a blank in front": (["generator=openai", f"generator.base_url=' {ELSEWHERE}'"], "may read differently"),
    "two readings": (
        ["generator=openai", "generator.base_url='https://192.0.2.2\\@api.openai.com/v1'"],
        "holds a user name or a password",
    ),
    "a host like a loopback": (["generator=openai", "generator.base_url=https://127.0.0.1.test.invalid/v1"], "127.0.0.1.test"),
    "a store": (["store=sftp://192.0.2.2/x"], BARE),
    "a store in front of a folder": (["store='sftp://192.0.2.2/x::file:///y'"], BARE),
    "a store without an address": (["store='sftp::file:///y'"], "may read differently"),
    "a scheduler without a scheme": (["execute=cluster", "execute.address=192.0.2.2:8786"], BARE),
    "a scheduler": (["execute=cluster", "execute.address=tcp://192.0.2.2:8786"], BARE),
    "a secret as a model": (["generator=openai", "generator.model=${oc.env:AWS_SECRET_ACCESS_KEY}"], "AWS_SECRET_ACCESS_KEY"),
    "an escaped reference": (["generator=openai", r"generator.model=$\{oc.env:GITHUB_TOKEN\}"], "configs read variables"),
    "a resolver": (["generator=openai", 'generator.model="${oc.decode:${oc.env:OPENAI_MODEL,m}}"'], "configs read variables"),
    "a resolver by parts": (["generator=openai", 'generator.model="${oc.${language}:GITHUB_TOKEN}"'], "configs read variables"),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_overrides_are_refused(rag: Verb, case: str) -> None:
    overrides, what = OVERRIDES[case]
    done = rag("run", *NATIVE, *overrides, "--no-track")
    assert done.code == 2
    assert what in done.err


FILES = {
    "(b) another variable": ("generator/openai", "api_key_env", "GITHUB_TOKEN", "GITHUB_TOKEN to api.openai.com"),
    "(c) a secret as a model": ("generator/openai", "model", "${oc.env:AWS_SECRET_ACCESS_KEY}", "configs read variables"),
    "an address": ("reranker/tei", "base_url", ELSEWHERE, "TEI_API_KEY to 192.0.2.2"),
    "a database": ("index/pgvector", "url", "postgresql://u@192.0.2.2/db", BARE),
}


@pytest.mark.parametrize("case", FILES)
def test_files_of_a_folder_are_refused(rag: Verb, case: str) -> None:
    choice, key, value, what = FILES[case]
    write(f"conf/{choice}.yaml", changed(choice, key, value))
    group, name = choice.split("/")
    done = rag("search", "Why?", *NATIVE, f"{group}=[{name}]" if group == "index" else f"{group}={name}")
    assert done.code == 2
    assert what in done.err
    assert f"conf/{choice}.yaml replaces the file of the same name that Assay ships.\n" in done.err


def test_a_default_that_was_replaced_is_refused(rag: Verb) -> None:
    write("conf/generator/extractive.yaml", changed("generator/openai", "base_url", ELSEWHERE))  # (d)
    assert SENT in rag("ask", "How many days off at all?", *NATIVE).err
    write("conf/generator/extractive.yaml", "defaults:\n  - /generator/${oc.env:GITHUB_TOKEN}@_here_\n  - _self_\n")
    assert "configs read variables" in rag("ask", "How many days off at all?", *NATIVE).err


def test_experiments_and_presets_are_refused(rag: Verb) -> None:
    fixed = json.dumps([*NATIVE, "generator=openai", f"generator.base_url={ELSEWHERE}"])
    write("experiments/nice.yaml", f"question: Is it nice?\nfixed: {fixed}\naxes:\n  k: k=3,5\n")  # (e)
    for command in ("plan", "sweep"):
        assert SENT in rag(command, "nice").err
    write(
        "conf/preset/nice.yaml",
        f"# @package _global_\ndefaults:\n  - override /generator: openai\ngenerator: {{base_url: '{ELSEWHERE}'}}\n",
    )
    assert SENT in rag("ask", "Why?", "preset=nice", *NATIVE).err


def test_a_plug_in_is_asked_where_its_own_choice_says(here: Path, rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "from rag.components.generators.openai import OpenAiGenerator\n\n\nclass Hosted(OpenAiGenerator):\n"
        "    def __init__(self, model: str, endpoint: str) -> None:\n        super().__init__(model, endpoint)\n"
    )
    add_plugin(here / "site", "hosted_model", source, {"generator/hosted": "Hosted"})
    monkeypatch.syspath_prepend(here / "site")
    catalog.plugins.cache_clear()
    try:
        done = rag("ask", "Why?", *NATIVE, "generator=hosted", "+generator.model=m", f"+generator.endpoint={ELSEWHERE}")
    finally:
        monkeypatch.undo()
        catalog.plugins.cache_clear()
    assert "generator.endpoint: would send questions and passages to 192.0.2.2:8898" in done.err


def test_a_server_on_this_machine_is_asked_and_named(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(say("Seven [1].")) as script:
        fixed = json.dumps(
            [*NATIVE, "generator=openai", f"generator.base_url={script.url}", "latency=0", "generator.api_key_env=GITHUB_TOKEN"]
        )
        write("experiments/own.yaml", f"question: Is it quick?\nsplit: all\nfixed: {fixed}\naxes:\n  k: k=3,5\n")
        line = f"generator asks {origin_of(script.url)} with GITHUB_TOKEN."
        plan = rag("plan", "own")
        assert line in plan.out.replace("\n", " ")
        assert rag("plan", "own", "--json").json["servers"] == [
            {"component": "generator", "origin": origin_of(script.url), "variable": "GITHUB_TOKEN"}
        ]
        assert not script.asked
        done = rag("run", *json.loads(fixed), "--no-track")
        assert done.code == 0
        assert done.err.startswith(f"{line}\n")
        assert set(script.keys) == {f"Bearer {SECRET}"}
        monkeypatch.delenv("GITHUB_TOKEN")
        assert rag("ask", "When?", *json.loads(fixed)).err.startswith(line.replace("GITHUB_TOKEN", "no key"))


def passes(address: str, variable: str | None) -> bool:
    try:
        Trust.of_user().check("generator.base_url", address, variable)
    except ConfigError:
        return False
    return True


def test_the_user_can_export_and_name_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "https://mine.example:8443/v1"
    assert not passes(mine, "OPENAI_API_KEY")
    assert not passes(mine, None)
    monkeypatch.setenv("OPENAI_BASE_URL", mine)
    assert passes(mine, "OPENAI_API_KEY")
    assert passes(mine, None)
    assert not passes(mine, "GITHUB_TOKEN")
    assert not passes("https://mine.example/v1", "OPENAI_API_KEY")  # another port
    monkeypatch.setenv("OPENAI_BASE_URL", "http://mine.example/v1")
    assert not passes("http://mine.example/v1", "OPENAI_API_KEY")  # no key without encryption
    assert passes("http://mine.example/v1", None)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("CORP_BASE_URL", mine)
    assert passes(mine, "CORP_API_KEY")
    monkeypatch.delenv("CORP_BASE_URL")
    for named, variable, expected in (
        ("mine.example", "OPENAI_API_KEY", True),
        ("other.example, mine.example:8443", None, True),
        ("mine.example:443", None, False),
        ("mine.example", "GITHUB_TOKEN", False),
        ("mine.example=GITHUB_TOKEN", "GITHUB_TOKEN", True),
        ("mine.example=GITHUB_TOKEN", "OPENAI_API_KEY", False),
    ):
        monkeypatch.setenv("RAG_TRUST_HOST", named)
        assert passes(mine, variable) is expected, named
        assert not passes(mine.replace("https", "http"), "OPENAI_API_KEY")
