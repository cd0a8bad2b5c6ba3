"""The routes of a server: what they return and what they refuse."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.servers import Server, running
from support.small_server import QUESTION, small_bundle
from support.small_set import TEXTS

from rag.bundle.open_bundle import open_bundle
from rag.core.types import Query


@pytest.fixture(scope="module")
def bundles(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two bundles of one golden set: the second has smaller chunks and reads earlier turns."""
    small = ("chunker=fixed", "chunker.size=60", "queries=carry_over", "memory=buffer", "k=2")
    return [bundle, small_bundle(tmp_path_factory.mktemp("small"), "generator=extractive", *small)]


@pytest.fixture(scope="module")
def server(bundles: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of both."""
    with running(bundles, tmp_path_factory.mktemp("server") / "serve.db") as found:
        yield found


def test_a_search_finds_what_the_pipeline_finds(server: Server, bundles: list[Path]) -> None:
    for bundle, model in zip(bundles, server.served.models, strict=True):
        pipeline = open_bundle(bundle).pipeline
        found = server.payload("/search", question=QUESTION, model=model.name)
        expected = [hit.chunk.chunk_id for hit in pipeline.contexts(pipeline.trace(Query("q", QUESTION)))]
        assert [passage["chunk"] for passage in found["passages"]] == expected
        assert (found["bundle"], found["model"]) == (model.bundle.digest, model.name)
    assert [len(server.payload("/search", question=QUESTION, k=k)["passages"]) for k in (1, 3)] == [1, 3]
    steps = found["passages"][0]["steps"]
    assert (steps["fused"]["rank"], set(steps) > {"fused"}) == (1, True)


def test_an_answer_is_that_of_the_pipeline(server: Server, bundles: list[Path]) -> None:
    answer = open_bundle(bundles[0]).pipeline.answer(Query("q", QUESTION))
    found = server.payload("/ask", question=QUESTION)
    assert (found["answer"], found["abstained"]) == (answer.reply.text, answer.abstained)
    assert [one["chunk"] for one in found["contexts"]] == [hit.chunk.chunk_id for hit in answer.contexts]
    cited = found["citations"][0]
    assert found["answer"][cited["start"] : cited["end"]] == f"[{cited['number']}]"
    span = cited["span"]
    assert TEXTS[cited["doc_id"]][span["start"] : span["end"]] == cited["quote"]
    assert cited["quote"] in found["contexts"][cited["number"] - 1]["text"]
    steps = {"queue", "rewrite", "embed", "search", "fuse", "rerank", "select", "prompt", "generate", "total"}
    assert set(found["timings"]) == steps


def test_a_trace_has_the_fate_of_every_passage(server: Server) -> None:
    name = server.served.models[1].name
    found = server.payload("/ask", question=QUESTION, model=name, show=["trace", "prompt"])
    passages = found["trace"]["passages"]
    kept = [one for one in passages if one["kept"]]
    assert [one["number"] for one in kept] == [1, 2]
    assert [one["chunk"] for one in kept] == [one["chunk"] for one in found["contexts"]]
    dropped = passages[2]
    assert (dropped["number"], dropped["why"]) == (None, "after fusion it is passage 3, and the first 2 are read")
    assert found["prompt"][-1]["content"].endswith(QUESTION)
    assert found["contexts"][0]["text"] in "".join(message["content"] for message in found["prompt"])


def test_a_search_can_be_restricted(server: Server) -> None:
    def documents_found(**within: Any) -> set[str]:
        return {one["doc_id"] for one in server.payload("/search", question=QUESTION, k=9, within=within)["passages"]}

    assert documents_found(documents=["bus.md", "winter.md"]) == {"bus.md", "winter.md"}
    assert documents_found(sections=["Winter"]) == {"winter.md"}
    assert documents_found(documents=[]) == set()
    for metadata in ("Winter", ["Winter", "Summer"]):
        assert documents_found(metadata={"title": metadata}) == {"winter.md"}
    assert documents_found(tags={"title": ["Winter"]}) == {"winter.md"}, "the name of version 1"
    for wrong in ({"title": {"from": 2024}}, {"title": {"low": 1}}, {"titel": "Winter"}):
        problem = server.post("/search", question=QUESTION, within={"metadata": wrong})
        assert problem.status_code == 422


def test_an_answer_can_be_restricted_to_a_selection(server: Server) -> None:
    chosen = {"doc_id": "ferry.md", "start": TEXTS["ferry.md"].index("A ticket"), "end": len(TEXTS["ferry.md"])}
    found = server.payload("/ask", question="What does a ticket cost?", within={"range": chosen})
    assert {(one["doc_id"], one["start"] >= chosen["start"]) for one in found["contexts"]} == {("ferry.md", True)}


def test_documents_come_in_pages(server: Server) -> None:
    def page(**where: int) -> list[str]:
        found = server.client.get("/documents", params=where).json()
        assert found["total"] == len(TEXTS)
        return [one["id"] for one in found["documents"]]

    assert page() == sorted(TEXTS)
    assert page(offset=1, limit=2) == sorted(TEXTS)[1:3]
    assert page(offset=99) == []


def test_a_document_has_its_text_and_headings(server: Server) -> None:
    found = server.client.get("/documents/bus.md").json()
    assert (found["text"], found["sections"], found["characters"]) == (TEXTS["bus.md"], ["Bus"], len(TEXTS["bus.md"]))


def test_a_conversation_continues_and_can_be_shown(server: Server) -> None:
    name = server.served.models[1].name
    first = server.payload("/chat", question=QUESTION, model=name)
    second = server.payload("/chat", question="And in winter?", model=name, session=first["session"], show=["prompt"])
    assert (first["turn"], second["turn"], second["session"]) == (1, 2, first["session"])
    assert "ferry" in second["sought"]["question"].lower()
    assert QUESTION in [message["content"] for message in second["prompt"]]
    shown = server.client.get(f"/sessions/{first['session']}").json()
    assert [turn["answer"] for turn in shown["turns"]] == [first["answer"], second["answer"]]


def test_a_model_is_picked_by_name(server: Server) -> None:
    first, second = server.served.models
    digests = [server.payload("/search", question=QUESTION, model=name)["bundle"] for name in (None, "default", second.name)]
    assert digests == [first.bundle.digest, first.bundle.digest, second.bundle.digest]
    assert server.client.get("/documents", params={"model": second.name}).json()["model"] == second.name
    listed = server.client.get("/v1/models").json()["data"]
    assert [(one["id"], one["title"], one["experiment"]) for one in listed] == [
        (first.name, "recursive-800 · bm25s+dense · extractive", ""),
        (second.name, "fixed-60 · bm25s+dense · extractive", ""),
    ]
    manifest = replace(first.bundle.manifest, name="recursive-800 · dense · maxsim", experiment="quickstart")
    assert replace(first, bundle=replace(first.bundle, manifest=manifest)).title == "recursive-800 · dense · maxsim"
