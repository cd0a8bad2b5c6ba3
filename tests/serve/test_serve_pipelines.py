"""What a server shows of messages that are no question, of records, and of what a session found before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.servers import Server, running
from support.small_server import QUESTION, chat_request, small_bundle
from support.small_set import TEXTS

from rag.api.pipelines import open_bundle
from rag.core.errors import ConfigError
from rag.serve.loaded_bundles import Served


def test_a_pleasantry_is_replied_to_without_a_search_and_is_no_context(conversing_bundle: Path, tmp_path: Path) -> None:
    with running(Served([conversing_bundle]), tmp_path / "serve.db") as server:
        events = server.events("/ask", question="Thanks!", stream=True)
        assert [name for name, _ in events] == ["passages", "piece", "answer"]
        assert (events[0][1], events[2][1]["input"], events[2][1]["contexts"]) == ([], "pleasantry", [])
        assert server.post("/search", question="ferry thanks").json()["passages"]

        def say(text: str, session: str | None) -> dict[str, Any]:
            answered: dict[str, Any] = server.post("/chat", question=text, session=session).json()
            return answered

        first = say(f'{QUESTION} "input": "pleasantry"', None)
        session = first["session"]
        assert (first["input"], say("Thank you!", session)["turn"]) == ("question", 2)
        assert "ferry" in say("And what does it cost?", session)["sought"]["texts"][0].lower()
        listed = say("What have we discussed?", session)
        assert listed["input"] == "conversation"
        assert "Thank you" not in listed["answer"]
        assert QUESTION in listed["answer"]
        completion = server.post("/v1/chat/completions", **chat_request("Good morning!")).json()
        assert completion["assay"]["input"] == "pleasantry"
        assert completion["choices"][0]["message"]["content"].startswith("Hello!")


def test_a_server_shows_records_and_filters_by_their_fields(tmp_path: Path) -> None:
    bundle = small_bundle(tmp_path, "enrich=rules", "generator=none")
    with running([bundle], tmp_path / "serve.db") as server:
        listed = server.client.get("/documents").json()["documents"]
        shown = server.client.get("/documents/bus.md").json()
        found = server.payload("/search", question=QUESTION, k=9, within={"metadata": {"format": "md", "title": "Bus"}})
        problem = server.post("/search", question=QUESTION, within={"metadata": {"formt": "md"}})
    assert {one["id"]: one["record"]["format"] for one in listed} == {name: name.rpartition(".")[2] for name in TEXTS}
    (record,) = shown["records"]
    assert record["values"] == shown["record"]
    assert record["values"]["title"] == "Bus"
    assert (record["table"], record["record"]) == ("documents", "bus.md")
    assert shown["text"][record["start"] : record["end"]] == "# Bus"
    assert {one["doc_id"] for one in found["passages"]} == {"bus.md"}
    assert problem.status_code == 422
    assert "format" in problem.json()["remedy"]

    opened = open_bundle(bundle)
    rows = {row["doc_id"]: row["title"] for row in opened.records()}
    assert rows["bus.md"] == "Bus"
    assert {row["doc_id"] for row in opened.within({"title": "Bus"}).search(QUESTION)} == {"bus.md"}
    with pytest.raises(ConfigError, match="there is no 'assets'"):
        opened.records("assets")


LIMITS = ("chunker=fixed", "chunker.size=60", "check=none", "reuse=similar", "exclude=[winter.md]")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    bundle = small_bundle(tmp_path_factory.mktemp("reusing"), "generator=extractive", *LIMITS)
    with running([bundle], tmp_path_factory.mktemp("server") / "serve.db") as found:
        yield found


def test_only_a_session_uses_again_what_it_found(server: Server) -> None:
    first = server.payload("/chat", question=QUESTION)
    second = server.payload("/chat", question=QUESTION, session=first["session"])
    (step,) = second["look"]["steps"]
    assert (step["act"], step["given"]) == ("reuse", QUESTION)
    assert second["contexts"] == first["contexts"]
    for other in ({}, {"session": first["session"], "within": {"documents": ["bus.md"]}}):
        assert "look" not in server.payload("/chat", question=QUESTION, **other)


def test_a_document_that_is_off_is_not_listed_and_not_read(server: Server) -> None:
    listed = server.client.get("/documents").json()
    assert "winter.md" not in [document["id"] for document in listed["documents"]]
    assert listed["total"] == len(listed["documents"]) == 3
    assert server.client.get("/documents/winter.md").status_code == 404
    assert server.client.post("/ask", json={"question": "When?", "within": {"whole": ["winter.md"]}}).status_code == 422
