"""Messages that are no question over HTTP: no search, no passages, and no part of the conversation."""

from pathlib import Path
from typing import Any

from support.servers import running
from support.small_server import QUESTION, chat_request

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
