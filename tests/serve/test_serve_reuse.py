"""A session of a server uses again what it found; other sessions, other scopes and excluded documents do not."""

from collections.abc import Iterator

import pytest
from support.servers import Server, running
from support.small_server import QUESTION, small_bundle

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
