"""The routes of a server: what they answer, what they refuse, and that both are as the API describes it."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.live_server import Live, live
from support.small_server import QUESTION, small_bundle
from support.small_set import TEXTS

from rag.bundle.open_bundle import open_bundle
from rag.serve import json_output, response_models, response_models_openai
from rag.serve.loaded_bundles import Served
from rag.serve.routes import documents


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two sealed bundles of one golden set: one quotes, the other has smaller chunks and converses."""
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    small = ("chunker=fixed", "chunker.size=60", "queries=carry_over", "memory=buffer", "k=2")
    return [small_bundle(one, "generator=extractive"), small_bundle(other, "generator=extractive", *small)]


@pytest.fixture(scope="module")
def server(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Both of them, served."""
    with live(Served(bundles), tmp_path_factory.mktemp("server") / "serve.db") as found:
        yield found


def test_a_search_finds_what_the_pipeline_finds(server: Live, bundles: list[Path]) -> None:
    for bundle, model in zip(bundles, server.served.models, strict=True):
        pipeline = open_bundle(bundle).pipeline
        told = server.told("/search", question=QUESTION, model=model.name)
        expected = [hit.chunk.chunk_id for hit in pipeline.contexts(model.batcher.pipeline.trace(_query()))]
        assert [passage["chunk"] for passage in told["passages"]] == expected
        assert (told["bundle"], told["model"]) == (model.bundle.digest, model.name)


def _query() -> Any:
    from rag.core.records import Query

    return Query("q", QUESTION)


def test_an_answer_is_that_of_the_pipeline(server: Live, bundles: list[Path]) -> None:
    answer = open_bundle(bundles[0]).pipeline.answer(_query())
    told = server.told("/ask", question=QUESTION)
    assert (told["answer"], told["abstained"]) == (answer.reply.text, answer.abstained)
    assert [one["chunk"] for one in told["contexts"]] == [hit.chunk.chunk_id for hit in answer.contexts]
    cited = told["citations"][0]
    assert told["answer"][cited["start"] : cited["end"]] == f"[{cited['number']}]"
    span = cited["span"]
    assert TEXTS[cited["doc_id"]][span["start"] : span["end"]] == cited["quote"]
    assert cited["quote"] in told["contexts"][cited["number"] - 1]["text"]


@pytest.mark.parametrize(
    ("path", "promise", "more"),
    [
        ("/search", response_models.Searched, {"k": 3}),
        ("/ask", response_models.Answer, {"show": ["trace", "prompt"]}),
        ("/chat", response_models.Answer, {}),
    ],
)
def test_answers_are_what_the_description_promises(server: Live, path: str, promise: Any, more: dict[str, Any]) -> None:
    response = server.post(path, question=QUESTION, **more)
    promise.model_validate_json(response.content, strict=True)
    assert response.headers["x-assay-bundle"] == response.json()["bundle"]


@pytest.mark.parametrize(
    ("path", "promise"),
    [
        ("/documents", response_models.Documents),
        ("/documents/ferry.md", response_models.Text),
        ("/v1/models", response_models_openai.Offers),
        ("/v1/models/default", response_models_openai.Offered),
        ("/readyz", response_models.Health),
        ("/healthz", response_models.Health),
    ],
)
def test_what_is_looked_up_is_as_described(server: Live, path: str, promise: Any) -> None:
    response = server.client.get(path)
    assert response.status_code == 200
    promise.model_validate_json(response.content, strict=True)
    assert len(response.headers["x-assay-bundle"]) == 64


def test_the_description_names_every_route_and_its_problems(server: Live) -> None:
    described = server.client.get("/openapi.json").json()
    asked = described["paths"]["/ask"]["post"]
    assert set(asked["responses"]["422"]["content"]) == {"application/problem+json"}
    assert set(asked["responses"]["200"]["content"]) == {"application/json", "text/event-stream"}
    assert asked["security"] == [{"key": []}]
    assert described["paths"]["/healthz"]["get"]["security"] == [{}]
    assert described["components"]["schemas"]["AskBody"]["properties"]["question"]["examples"]
    wanted = {"/search", "/chat", "/documents", "/documents/{doc_id}", "/sessions/{session}", "/feedback", "/v1/models"}
    assert wanted | {"/v1/chat/completions", "/metrics", "/readyz"} <= set(described["paths"])


def test_as_many_passages_as_are_wanted(server: Live) -> None:
    assert [len(server.told("/search", question=QUESTION, k=k)["passages"]) for k in (1, 3)] == [1, 3]


def test_steps_say_where_a_passage_stood(server: Live) -> None:
    steps = server.told("/search", question=QUESTION)["passages"][0]["steps"]
    assert steps["fused"]["rank"] == 1
    assert set(steps) > {"fused"}


def test_a_trace_tells_what_became_of_every_passage(server: Live) -> None:
    name = server.served.models[1].name
    told = server.told("/ask", question=QUESTION, model=name, show=["trace", "prompt"])
    passages = told["trace"]["passages"]
    kept = [one for one in passages if one["kept"]]
    assert [one["number"] for one in kept] == [1, 2]
    assert [one["chunk"] for one in kept] == [one["chunk"] for one in told["contexts"]]
    dropped = passages[2]
    assert (dropped["number"], dropped["why"]) == (None, "after fusion it is passage 3, and the first 2 are read")
    assert told["prompt"][-1]["content"].endswith(QUESTION)
    assert told["contexts"][0]["text"] in "".join(message["content"] for message in told["prompt"])


def test_timings_name_the_steps(server: Live) -> None:
    timings = server.told("/ask", question=QUESTION)["timings"]
    assert {"queue", "rewrite", "embed", "search", "fuse", "rerank", "select", "prompt", "generate", "total"} == set(timings)


def test_only_what_is_allowed_is_found(server: Live) -> None:
    def found(**within: Any) -> set[str]:
        return {one["doc_id"] for one in server.told("/search", question=QUESTION, k=9, within=within)["passages"]}

    assert found(documents=["bus.md", "winter.md"]) == {"bus.md", "winter.md"}
    assert found(sections=["Winter"]) == {"winter.md"}
    assert found(documents=[]) == set()


def test_what_was_selected_is_all_that_is_read(server: Live) -> None:
    chosen = {"doc_id": "ferry.md", "start": TEXTS["ferry.md"].index("A ticket"), "end": len(TEXTS["ferry.md"])}
    told = server.told("/ask", question="What does a ticket cost?", within={"range": chosen})
    assert {(one["doc_id"], one["start"] >= chosen["start"]) for one in told["contexts"]} == {("ferry.md", True)}


def test_whole_documents_are_read_as_they_are(server: Live) -> None:
    told = server.told("/ask", question="What does a ticket cost?", within={"whole": ["bus.md", "ferry.md"]})
    assert [(one["number"], one["text"]) for one in told["contexts"]] == [(1, TEXTS["bus.md"]), (2, TEXTS["ferry.md"])]
    assert told["answer"].count("[") >= 1


def test_documents_come_in_pages(server: Live) -> None:
    def page(**where: int) -> list[str]:
        told = server.client.get("/documents", params=where).json()
        assert told["total"] == len(TEXTS)
        return [one["id"] for one in told["documents"]]

    assert page() == sorted(TEXTS)
    assert page(offset=1, limit=2) == sorted(TEXTS)[1:3]
    assert page(offset=99) == []


def test_a_document_is_told_with_its_headings(server: Live) -> None:
    told = server.client.get("/documents/bus.md").json()
    assert (told["text"], told["sections"], told["characters"]) == (TEXTS["bus.md"], ["Bus"], len(TEXTS["bus.md"]))


def test_a_conversation_goes_on(server: Live) -> None:
    name = server.served.models[1].name
    first = server.told("/chat", question=QUESTION, model=name)
    second = server.told("/chat", question="And in winter?", model=name, session=first["session"], show=["prompt"])
    assert (first["turn"], second["turn"], second["session"]) == (1, 2, first["session"])
    assert "ferry" in second["sought"]["question"].lower()
    said = [message["content"] for message in second["prompt"]]
    assert QUESTION in said
    shown = server.client.get(f"/sessions/{first['session']}")
    response_models.Session.model_validate_json(shown.content, strict=True)
    assert [turn["answer"] for turn in shown.json()["turns"]] == [first["answer"], second["answer"]]


def test_an_answer_outside_of_sessions_can_be_rated(server: Live) -> None:
    told = server.told("/ask", question=QUESTION)
    assert server.post("/feedback", answer=told["id"], rating=-1, comment="At seven.").status_code == 204


def test_the_model_is_picked_by_name(server: Live) -> None:
    first, second = server.served.models
    digests = [server.told("/search", question=QUESTION, model=name)["bundle"] for name in (None, "default", second.name)]
    assert digests == [first.bundle.digest, first.bundle.digest, second.bundle.digest]
    listed = server.client.get("/v1/models").json()["data"]
    assert [one["id"] for one in listed] == [first.name, second.name]
    assert server.client.get("/documents", params={"model": second.name}).json()["model"] == second.name


def test_a_model_says_what_it_is(server: Live) -> None:
    listed = server.client.get("/v1/models").json()["data"]
    assert [(one["title"], one["experiment"]) for one in listed] == [
        ("recursive-800 · bm25s+dense · extractive", ""),
        ("fixed-60 · bm25s+dense · extractive", ""),
    ]
    model = server.served.models[0]
    manifest = replace(model.bundle.manifest, name="recursive-800 · dense · maxsim", experiment="quickstart")
    assert replace(model, bundle=replace(model.bundle, manifest=manifest)).title == "recursive-800 · dense · maxsim"


def test_a_long_document_is_written_in_pieces_off_the_loop(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[tuple[str, int]] = []

    def written(told: Any) -> bytes:
        pieces.append((threading.current_thread().name, len(told)))
        return json_output.written(told)

    monkeypatch.setattr(documents, "written", written)
    monkeypatch.setattr(documents, "PIECE", 10)
    text = server.client.get("/documents/ferry.md").json()["text"]
    assert text == TEXTS["ferry.md"]
    assert len(pieces) == 1 + -(-len(text) // 10)
    assert all(name.startswith("AnyIO worker") and length <= 10 for name, length in pieces)


@pytest.mark.parametrize("text", ["", 'a "quoted" \\ word\n', "🌴" * 9, "half \ud800 a pair", "\u2028 </script> \x00"])
def test_a_document_in_pieces_is_the_document(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PIECE", 3)
    assert json.loads(documents._told({"id": "d"}, text)) == {"id": "d", "text": text}
