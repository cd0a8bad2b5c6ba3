"""Blocks and redactions of documents in a bundle."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.forged_bundles import sealed
from support.paged_documents import POLICY, document, parsed_pages
from support.small_set import TEXTS, write_golden

from rag.bundle.consistency import documents_of
from rag.bundle.errors import BundleError
from rag.bundle.leaks import check_documents
from rag.bundle.open_bundle import open_bundle
from rag.bundle.strict_parse import json_bytes
from rag.core.errors import DataError
from rag.core.types import Block, Document

SEEN = document("policy.pdf", POLICY)


def lines(*documents: Document) -> bytes:
    return b"".join(json_bytes(asdict(document)) for document in documents)


def test_a_bundle_holds_the_blocks_of_its_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag: Verb) -> None:
    monkeypatch.chdir(tmp_path)
    golden = write_golden(tmp_path / "golden")
    (golden / "documents" / "policy.txt").write_text(POLICY, "utf-8")
    with parsed_pages():
        bundle = open_bundle(sealed(tmp_path / "bundle", golden, "loader.noise=none"))
    corpus = bundle.pipeline.corpus
    assert len(corpus.documents) == len(TEXTS) + 1
    paged = next(each for each in corpus.documents if each.blocks)
    assert (paged.text, paged.blocks, paged.redactions) == (SEEN.text, SEEN.blocks, SEEN.redactions)
    assert sorted(corpus.page_counts) == [0] * len(TEXTS) + [3]
    counts = rag("inspect", "bundle", "--json").json
    assert (counts["name"], counts["pages"], counts["gold"]) == (bundle.name, 3, {})
    assert counts["documents"] == len(TEXTS) + 1
    assert [each["chunks"] for each in counts["chunkers"].values()] == [len(corpus)]


def block(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda line: line["blocks"][1].update(values)


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "kind": (block(kind="script"), "1: kind: is 'script'"),
    "end beyond": (block(end=10**9), "outside of its text"),
    "backwards": (block(start=20, end=10), "outside of its text"),
    "order": (lambda line: line["blocks"].reverse(), "begins before the one above"),
    "true": (block(page=True), "1: page: is 'True'"),
    "page": (block(page=-1), "page.*\n.*greater than"),
    "box beyond": (block(boxes=[[0, 0, 1.5, 1]]), "boxes: 0: 2: is '1.5'"),
    "inverted box": (block(boxes=[[0.9, 0, 0.1, 1]]), "from left to right"),
    "name": (block(name="x" * 2000), "name"),
    "redaction beyond": (lambda line: line["redactions"][0].update(end=10**9), "outside of its text"),
    "field of a document": (lambda line: line.update(code=1), "b: documents.jsonl:1: code: is"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_not_valid_is_refused(case: str) -> None:
    change, words = HOSTILE[case]
    line = json.loads(lines(SEEN))
    change(line)
    with pytest.raises(BundleError, match=words):
        documents_of(json.dumps(line).encode() + b"\n", "b")


def test_blocks_that_no_bundle_can_hold_are_not_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(SEEN, blocks=(Block("text", 0, 5, boxes=((0.0, 0.0, 1.2, 1.0),)),))
    with pytest.raises(DataError, match=r"blocks: 0: boxes: 0: 2: is.*\n.*parser"):
        check_documents((wrong,))
    monkeypatch.setenv("PLANTED_TOKEN", "planted-value-0123456789")
    named = replace(SEEN, blocks=(Block("text", 0, 5, name="planted-value-0123456789"),))
    with pytest.raises(DataError, match="PLANTED_TOKEN"):
        check_documents((named,))
