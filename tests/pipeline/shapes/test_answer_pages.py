"""Pages of passages and citations: in JSON, in the terminal, in a transcript, in MLflow, at the server."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.paged_documents import POLICY, document, parsed_pages
from support.small_server import small_app
from support.unmeasured_bundles import seal

from rag.bundle.open_bundle import open_bundle
from rag.core.text.tokens import count
from rag.core.types import Answer, Query
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.shapes.answer_json import answer_json, found_passages
from rag.reporting.terminal.answers import sources
from rag.reporting.terminal.output import out
from rag.reporting.terminal.passages import passages, passages_of_answer

QUESTION = "How many days may be carried over?"
SEEN = document("policy.txt", POLICY)
Asked = tuple[Pipeline, Trace, Answer]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A config over a document with pages and one without, whose chunks are whole documents."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "documents").mkdir()
    (folder / "documents" / "policy.txt").write_text(POLICY, "utf-8")
    (folder / "documents" / "plain.txt").write_text("# Parking\n\nA permit may be carried over too.", "utf-8")
    fixed = [
        "loader=folder",
        f"loader.path={folder / 'documents'}",
        f"store={folder / 'store'}",
        "fusion=single",
        "loader.noise=none",
    ]
    with parsed_pages():
        yield config_of([*fixed, "embedder=hashing", "chunker=whole", "index=[bm25s]", "generator=extractive", "k=2"])


@pytest.fixture(scope="module")
def asked(config: dict[str, Any]) -> Asked:
    """A question, searched for and answered."""
    pipeline, query = open_config(config), Query("q", QUESTION)
    trace = pipeline.trace(query)
    return pipeline, trace, pipeline.answer_from(query, trace)


def test_citations_and_passages_say_their_pages(asked: Asked) -> None:
    pipeline, trace, answer = asked
    found = answer_json(answer, trace.sought, pipeline.corpus)
    assert {each["doc_id"]: each["page"] for each in found["contexts"]} == {
        "policy.txt": {"first": 1, "last": 3},
        "plain.txt": None,
    }
    cited = next(each for each in found["citations"] if each["doc_id"] == "policy.txt")
    assert (cited["quote"], cited["section"]) == ("Up to five days may be carried over.", "Annual leave > Carrying over")
    assert cited["page"] == {"first": 2, "last": 2}
    (touched,) = [block for block in SEEN.blocks if "five days" in SEEN.text[block.start : block.end]]
    assert cited["boxes"] == [{"page": 2, "kind": "text", "box": touched.boxes[0]}]


def test_the_terminal_says_file_section_and_page(asked: Asked) -> None:
    pipeline, trace, answer = asked
    with out.capture() as captured:
        sources(answer)
    lines = captured.get().splitlines()
    assert "policy.txt · Annual leave > Carrying over · p. 2" in [line.partition(" ")[2] for line in lines]
    assert not [line for line in lines if "plain.txt" in line and "p. " in line]
    found = found_passages(pipeline.corpus, trace, 2)
    with out.capture() as captured:
        passages(found)
        passages(passages_of_answer(found, answer_json(answer, trace.sought, pipeline.corpus)))
    assert "pp. 1–3" in captured.get()
    assert "Annual leave > Carrying over · p. 2" in captured.get()


def test_a_server_gives_blocks_chunks_and_flags(config: dict[str, Any], tmp_path: Path) -> None:
    with parsed_pages():
        seal(config, tmp_path / "bundle")
    assert open_bundle(tmp_path / "bundle").pipeline.corpus.page_counts == (0, 3)
    app = small_app(tmp_path / "bundle", tmp_path / "serve.db")

    async def get(path: str) -> Any:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.get(path)).json()

    listed, paged, plain = (asyncio.run(get(f"/documents{path}")) for path in ("", "/policy.txt", "/plain.txt"))
    assert {each["id"]: each["pages"] for each in listed["documents"]} == {"policy.txt": 3, "plain.txt": 0}
    assert paged["text"] == SEEN.text
    assert [(each["kind"], each["start"], each["end"], each["page"]) for each in paged["blocks"]] == [
        (block.kind, block.start, block.end, block.page) for block in SEEN.blocks
    ]
    assert tuple(paged["blocks"][0]["boxes"][0]) == SEEN.blocks[0].boxes[0]
    assert paged["redactions"] == [{"start": one.start, "end": one.end, "rule": "email"} for one in SEEN.redactions]
    assert paged["chunks"] == [{"start": 0, "end": len(SEEN.text), "tokens": count(SEEN.text), "flags": ["mojibake"]}]
    assert (paged["flags"], plain["flags"], plain["blocks"]) == (["mojibake"], [], [])
